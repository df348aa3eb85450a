export type { StoreClock } from "./base/clock.ts";
export {
  CompactedError,
  type Compare,
  type Entry,
  type ListOptions,
  maxOperations,
  type Operation,
  type Store,
  type StoreEvent,
  StoreTimeoutError,
  type TxnResult,
} from "./base/store.ts";
export { type EtcdOptions, etcdStore } from "./etcd/store.ts";
export { memoryStore } from "./memory/store.ts";
export { type FileProblem, StoreFileError } from "./sqlite/error.ts";
export { sqliteStore } from "./sqlite/store.ts";
