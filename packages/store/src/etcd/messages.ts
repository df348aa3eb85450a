import { flag, identity, integer, type Message, many, message, one, text } from "./codec.ts";

/**
 * The part of etcd's API (v3, package `etcdserverpb`) that a store needs: names and numbers of fields are
 * etcd's. Keys and values are bytes there; ours are text, which lies on the wire as the same bytes.
 */
export interface Method<Q, R> {
  readonly path: string;
  readonly request: Message<Q>;
  readonly response: Message<R>;
}

function method<Q, R>(path: string, request: Message<Q>, response: Message<R>): Method<Q, R> {
  return { path: `/etcdserverpb.${path}`, request, response };
}

const header = message({ revision: one(3, integer) });

const keyValue = message({
  key: one(1, text),
  createRevision: one(2, integer),
  modRevision: one(3, integer),
  value: one(5, text),
});

const rangeRequest = message({
  key: one(1, text),
  rangeEnd: one(2, text),
  limit: one(3, integer),
  revision: one(4, integer),
  countOnly: one(9, flag),
});

const rangeResponse = message({
  header: one(1, header),
  kvs: many(2, keyValue),
  more: one(3, flag),
  count: one(4, integer),
});

const putRequest = message({ key: one(1, text), value: one(2, text), lease: one(3, identity) });

const deleteRangeRequest = message({ key: one(1, text) });

/** `result` and `target` are enumerations. */
const compare = message({
  result: one(1, integer),
  target: one(2, integer),
  key: one(3, text),
  modRevision: one(6, integer),
});

/** Holds if the key's modification revision is the one given. */
export const equalModRevision = { result: 0, target: 2 } as const;

const requestOperation = message({
  range: one(1, rangeRequest),
  put: one(2, putRequest),
  deleteRange: one(3, deleteRangeRequest),
});

const responseOperation = message({ range: one(1, rangeResponse) });

const watchCreateRequest = message({
  key: one(1, text),
  rangeEnd: one(2, text),
  startRevision: one(3, integer),
  previous: one(6, flag),
});

const event = message({ type: one(1, integer), kv: one(2, keyValue), previous: one(3, keyValue) });
/** The type of an event that is a deletion; a put has zero. */
export const deletion = 1;

export const range = method("KV/Range", rangeRequest, rangeResponse);

export const txn = method(
  "KV/Txn",
  message({
    compare: many(1, compare),
    success: many(2, requestOperation),
    failure: many(3, requestOperation),
  }),
  message({ header: one(1, header), succeeded: one(2, flag), responses: many(3, responseOperation) }),
);

export const compact = method("KV/Compact", message({ revision: one(1, integer) }), message({}));

export const leaseGrant = method(
  "Lease/LeaseGrant",
  message({ ttl: one(1, integer) }),
  message({ id: one(2, identity), error: one(4, text) }),
);

export const watch = method(
  "Watch/Watch",
  message({ create: one(1, watchCreateRequest) }),
  message({
    created: one(3, flag),
    canceled: one(4, flag),
    compactRevision: one(5, integer),
    cancelReason: one(6, text),
    events: many(11, event),
  }),
);
