import type { KubeObject, Provenance } from "@dray/api";
import type { ApiRequest, UserInfo } from "@dray/client";
import type { Kind } from "../encoding/codec.ts";
import type { ServedResource } from "../kinds/resources.ts";
import type { Pause } from "../request/large-work.ts";
import type { WriteOptions } from "../request/options.ts";

/** One write: user, object and options. */
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
  /** Admission has already admitted the request that leads to this write. */
  readonly admitted?: true;
  /** The client's options, for admission. */
  readonly clientOptions?: object;
  /** Adds a text to the Warning headers of the response. */
  readonly warn?: (text: string) => void;
  /**
   * The request behind it. Its signal aborts when the client has disconnected or the time is over; it is
   * created on first use.
   */
  readonly sent?: Pick<ApiRequest, "signal">;
  /** Provenance of the object; absent for writes by the server itself. */
  readonly provenance?: Provenance;
  /** Awaited between two steps of work that grows with the size of the object. */
  readonly pause?: Pause;
}

/** Rules of one update. */
export interface UpdateRules {
  /**
   * Returns the new object for the current one; both in the stored version. The new object may be changed.
   */
  readonly change: (current: KubeObject) => KubeObject | Promise<KubeObject>;
  /** Returns the object that is created if none exists, in the stored version. Absent: then it is 404. */
  readonly createMissing?: () => KubeObject | Promise<KubeObject>;
  /** PUT: uid and resourceVersion of the sent object must be those of the stored one. */
  readonly replaces?: boolean;
  /** `change` sets the managedFields (server-side apply). */
  readonly ownManagers?: boolean;
  /** Skips admission and validation: for writes by the server itself. */
  readonly unchecked?: boolean;
  /** Rejects with 409 if another write comes between reading and writing, instead of retrying. */
  readonly expectedVersion?: string;
  /** Set if a subresource has another kind than its parent (Scale), which is the one that admission sees. */
  readonly view?: View;
}

/** The object of a subresource with a kind of its own, and its mapping to the parent. */
export interface View {
  readonly kind: Kind;
  readonly show: (object: KubeObject) => KubeObject;
  /** Applies the changes of the shown object to the parent, in place. */
  readonly take: (object: KubeObject, shown: KubeObject) => void;
}

export interface Written {
  readonly object: KubeObject;
  readonly created: boolean;
}

/** Result of a DELETE. */
export interface Deletion {
  /**
   * True if the object is removed; otherwise it stays until its finalizers are removed or its grace period is
   * over.
   */
  readonly isRemoved: boolean;
  /** Its last or current state. */
  readonly object: KubeObject;
  /** DELETE returns the object, whatever the kind returns otherwise. */
  readonly shown?: true;
}
