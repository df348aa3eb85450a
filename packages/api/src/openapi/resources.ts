import type { KindRow } from "../schema/table.ts";
import type { CustomSchema } from "./schemas.ts";

export interface OpenAPISubresource {
  readonly name: string;
  /**
   * The kind of its objects, which may be of another group (`Scale`, `Eviction`), or the options of a
   * connection (`PodExecOptions`), which has no objects.
   */
  readonly row: KindRow | { readonly options: string };
  readonly verbs: readonly string[];
}

export interface OpenAPIResource {
  readonly row: KindRow;
  readonly verbs: readonly string[];
  readonly subresources: readonly OpenAPISubresource[];
  /** Set for a kind that the table lacks. */
  readonly custom?: CustomSchema;
}
