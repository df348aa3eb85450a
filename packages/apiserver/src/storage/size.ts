import type { KubeObject, StatusError } from "@dray/api";
import { encodeProtobuf } from "@dray/api/codec";
import { serverError } from "../errors/status.ts";

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
  throw tooLarge();
}

/** What kube-apiserver answers for an object that etcd does not take. */
export function tooLarge(): StatusError {
  return serverError("etcdserver: request is too large");
}

/** Bytes that a text has at least. */
const textLength = (text: string): number => text.length;
/** Bytes that base64 stands for at least: these are stored. */
const decodedLength = (text: string): number => Math.max(0, text.length * 0.75 - 2);

/** Bytes that an entry of a map has beside its key and its value, in protobuf and in JSON, at least. */
const entryRest = 6;

/** The same of an element of a list. */
const listRest = 2;

/**
 * Whether an object that a client sends is certain to be refused by `checkSize`, however little is left of the rest of it:
 * what nothing is ever taken from is too large by itself. To see that takes a tenth of the time of all that is done to an
 * object of that size before it is stored.
 */
export function isTooLarge(object: KubeObject, storedAsJSON: boolean): boolean {
  const { metadata, kind, apiVersion } = object;
  let size = 0;
  const add = (map: unknown, lengthOf: (value: string) => number): void => {
    for (const key in map as Record<string, string | null>) {
      const value = (map as Record<string, string | null>)[key];
      size += key.length + (value ? lengthOf(value) : 0) + entryRest;
      if (size > requestLimit) return;
    }
  };
  if (storedAsJSON) {
    // What is left out may go, or become less.
    const { status: _, metadata: __, ...rest } = object as { metadata: unknown; status?: unknown };
    return isLonger(rest, requestLimit);
  }
  for (const finalizer of metadata.finalizers ?? []) size += finalizer.length + listRest;
  add(metadata.labels, textLength);
  add(metadata.annotations, textLength);
  if (apiVersion === "v1" && (kind === "ConfigMap" || kind === "Secret")) {
    const { data, binaryData } = object as { data?: unknown; binaryData?: unknown };
    add(data, kind === "Secret" ? decodedLength : textLength);
    add(binaryData, decodedLength);
  }
  return size > requestLimit;
}

/** Whether the JSON of a value surely has more bytes; looks no further than that. */
function isLonger(value: unknown, limit: number): boolean {
  let left = limit;
  const take = (value: unknown): void => {
    if (typeof value === "string") left -= value.length;
    left -= 2;
    if (typeof value !== "object" || value === null) return;
    for (const key in value) {
      if (left < 0) return;
      if (!Array.isArray(value)) left -= key.length + 3;
      take((value as Record<string, unknown>)[key]);
    }
  };
  take(value);
  return left < 0;
}

function protobufLength(object: KubeObject): number {
  try {
    return encodeProtobuf(object).length;
  } catch {
    // A kind that is stored as JSON.
    return Number.POSITIVE_INFINITY;
  }
}
