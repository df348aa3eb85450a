import type { KindRow } from "../schema/table.ts";
import type { CustomSchema } from "./schemas.ts";

export interface OpenAPISubresource {
  readonly name: string;
  /**
   * The kind that it speaks, which may be of another group (`Scale`, `Eviction`), or that of the options of a
   * connection (`PodExecOptions`): no object is spoken there.
   */
  readonly row: KindRow | { readonly options: string };
  readonly verbs: readonly string[];
}

export interface OpenAPIResource {
  readonly row: KindRow;
  readonly verbs: readonly string[];
  readonly subresources: readonly OpenAPISubresource[];
  /** Of a kind that the table lacks. */
  readonly custom?: CustomSchema;
}
