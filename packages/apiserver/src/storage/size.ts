import type { KubeObject } from "@dray/api";
import { encodeProtobuf } from "@dray/api/codec";
import { serverError } from "../response.ts";

/** Most bytes of a request that etcd takes (its --max-request-bytes), the key and what else belongs to it included. */
const requestLimit = 1.5 * 2 ** 20;
/** What a write has beside three times its key and the object. */
const requestRest = 40;

/**
 * Refuses an object that is too large for kube-apiserver to store, in its words: built-in kinds count as the protobuf
 * that it stores, all others as JSON.
 */
export function checkSize(key: string, object: KubeObject, text: string): void {
  const limit = requestLimit - requestRest - 3 * key.length;
  // The bytes in protobuf are fewer than those in JSON, and those are at most three for a UTF-16 unit.
  if (3 * text.length <= limit || Buffer.byteLength(text) <= limit) return;
  if (protobufLength(object) <= limit) return;
  throw serverError("etcdserver: request is too large");
}

function protobufLength(object: KubeObject): number {
  try {
    return encodeProtobuf(object).length;
  } catch {
    // A kind that is stored as JSON.
    return Number.POSITIVE_INFINITY;
  }
}
