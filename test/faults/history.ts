/**
 * Records of the clients and watchers of a server that is killed repeatedly, and the changes in its store.
 */

/**
 * One request that changes an object. `expected` is the revision that it was conditional on; 0: must not
 * exist.
 */
export interface Attempt {
  readonly client: string;
  readonly verb: "create" | "update" | "delete";
  readonly name: string;
  /** Written by no other attempt; empty for deletions. */
  readonly value: string;
  readonly expected: number;
  readonly outcome: "done" | "refused" | "unknown";
  /** Revision in the response to a create or update that was done. */
  readonly revision?: number;
}

/** One answer to a GET. */
export interface Read {
  readonly client: string;
  readonly name: string;
  /** The newest revision of the object that this client had received before. */
  readonly atLeast: number;
  /** Undefined: not found. */
  readonly found?: Version;
}

/** An object at one revision. */
export interface Version {
  readonly revision: number;
  readonly value: string;
}

export interface Change {
  readonly type: "put" | "delete";
  readonly name: string;
  readonly revision: number;
  /** After a put. */
  readonly value?: string;
}

/**
 * Events of a watcher: a list, then the changes after it, over all interruptions, until it had to list
 * again.
 */
export interface Story {
  readonly revision: number;
  readonly list: ReadonlyMap<string, Version>;
  readonly changes: Change[];
}

export interface Histories {
  readonly attempts: Attempt[];
  readonly reads: Read[];
  /** The stories of each watcher, in order. */
  readonly watchers: Story[][];
}
