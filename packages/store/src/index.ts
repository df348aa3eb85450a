export type { StoreClock } from "./clock.ts";
export { type EtcdOptions, etcdStore } from "./etcd/store.ts";
export { memoryStore } from "./memory.ts";
export { sqliteStore } from "./sqlite.ts";
export { type FileProblem, StoreFileError } from "./sqlite-error.ts";
export {
  CompactedError,
  type Compare,
  type Entry,
  type ListOptions,
  type Operation,
  operationLimit,
  type Store,
  type StoreEvent,
  StoreTimeoutError,
  type TxnResult,
} from "./store.ts";
