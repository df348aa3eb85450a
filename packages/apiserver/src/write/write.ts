import type { KubeObject } from "@dray/api";
import type { ApiRequest, UserInfo } from "@dray/client";
import type { Kind } from "../encoding/codec.ts";
import type { ServedResource } from "../kinds/resources.ts";
import type { Pause } from "../request/large-work.ts";
import type { WriteOptions } from "../request/options.ts";

/** One write: who does what to which object. */
export interface Write {
  readonly served: ServedResource;
  readonly subresource: string;
  /** "" for cluster-scoped objects. */
  readonly namespace: string;
  /** "" for a create whose name is in the object. */
  readonly name: string;
  readonly user: UserInfo;
  /** `create`, `update`, `patch`, `delete`. */
  readonly verb: string;
  readonly options: WriteOptions;
  /** The object is deleted with its collection: admission does not see its name. */
  readonly collection?: true;
  /** Admission has admitted what leads to this write. */
  readonly admitted?: true;
  /** The options as the client gave them, for admission. */
  readonly given?: object;
  /** Adds a text to the Warning headers of the answer. */
  readonly warn?: (text: string) => void;
  /** The request behind it. Its signal ends when the client has gone or the time is over; it is made when it is read. */
  readonly sent?: Pick<ApiRequest, "signal">;
  /** Awaited between two steps of work that grows with the object. */
  readonly pause?: Pause;
}

/** Rules of one update. */
export interface UpdateRules {
  /** Makes the new object of the current one; both in the stored version. The new object may be changed. */
  readonly change: (current: KubeObject | undefined) => KubeObject | Promise<KubeObject>;
  /** PUT: the uid and resourceVersion of the object sent must be those of the stored one. */
  readonly replaces?: boolean;
  /** An object that does not exist is created. */
  readonly mayCreate?: boolean;
  /** `change` decides which manager owns which fields (server-side apply). */
  readonly ownManagers?: boolean;
  /** Leaves out admission and validation: for writes of the server itself. */
  readonly unchecked?: boolean;
  /** Rejects with 409 if another write comes between reading and writing, instead of trying again. */
  readonly expectedVersion?: string;
  /** Set where a subresource has another kind than its parent (Scale): admission sees the object so. */
  readonly view?: View;
}

/** The object of a subresource that has a kind of its own, and the way back to its parent. */
export interface View {
  readonly kind: Kind;
  readonly show: (object: KubeObject) => KubeObject;
  /** Takes the changes of the shown object over into the parent, in place. */
  readonly take: (object: KubeObject, shown: KubeObject) => void;
}

export interface Written {
  readonly object: KubeObject;
  readonly created: boolean;
}

/** Result of a DELETE. */
export interface Deletion {
  /** Whether the object is gone; else it stays until its finalizers are removed or its grace period is over. */
  readonly gone: boolean;
  /** Its last state, or its state now. */
  readonly object: KubeObject;
  /** DELETE answers with the object, whatever its kind answers otherwise. */
  readonly shown?: true;
}
