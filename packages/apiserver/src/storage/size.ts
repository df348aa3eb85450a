import type { KubeObject, StatusError } from "@dray/api";
import { encodeProtobuf } from "@dray/api/codec";
import { serverError } from "../errors/status.ts";

/** Maximum size of an etcd request in bytes (its --max-request-bytes), including the key and overhead. */
const maxRequestBytes = 1.5 * 2 ** 20;
/** Bytes of a write in addition to the object and three times its key. */
const requestOverhead = 40;

/**
 * Rejects an object that is too large for kube-apiserver to store, with its message: built-in kinds count as
 * protobuf, which it stores, others as JSON.
 */
export function checkSize(key: string, object: KubeObject, text: string): void {
  const limit = maxRequestBytes - requestOverhead - 3 * key.length;
  // Protobuf is smaller than JSON, and JSON has at most three bytes per UTF-16 unit.
  if (3 * text.length <= limit || Buffer.byteLength(text) <= limit) return;
  if (protobufLength(object) <= limit) return;
  throw tooLarge();
}

/** Creates kube-apiserver's error for an object that etcd rejects. */
export function tooLarge(): StatusError {
  return serverError("etcdserver: request is too large");
}

/** Minimum bytes of a text. */
const textLength = (text: string): number => text.length;
/** Minimum number of bytes in a base64 text: these are stored. */
const decodedLength = (text: string): number => Math.max(0, text.length * 0.75 - 2);

/** Minimum overhead in bytes of a map entry, in protobuf and in JSON. */
const entryOverhead = 6;

/** The same for a list element. */
const elementOverhead = 2;

/**
 * Reports whether `checkSize` is certain to reject an object of a client, even if all removable parts are
 * removed: the parts that always stay exceed the limit. This check takes a tenth of the time of processing
 * such an object until it is stored.
 */
export function isTooLarge(object: KubeObject, storedAsJSON: boolean): boolean {
  const { metadata, kind, apiVersion } = object;
  let size = 0;
  const add = (map: unknown, lengthOf: (value: string) => number): void => {
    for (const key in map as Record<string, string | null>) {
      const value = (map as Record<string, string | null>)[key];
      size += key.length + (value ? lengthOf(value) : 0) + entryOverhead;
      if (size > maxRequestBytes) return;
    }
  };
  if (storedAsJSON) {
    // Omitted fields may be removed or become smaller.
    const { status: _, metadata: __, ...rest } = object as { metadata: unknown; status?: unknown };
    return isLonger(rest, maxRequestBytes);
  }
  for (const finalizer of metadata.finalizers ?? []) size += finalizer.length + elementOverhead;
  add(metadata.labels, textLength);
  add(metadata.annotations, textLength);
  if (apiVersion === "v1" && (kind === "ConfigMap" || kind === "Secret")) {
    const { data, binaryData } = object as { data?: unknown; binaryData?: unknown };
    add(data, kind === "Secret" ? decodedLength : textLength);
    add(binaryData, decodedLength);
  }
  return size > maxRequestBytes;
}

/** Reports whether the JSON of a value is certain to exceed the limit; stops there. */
function isLonger(value: unknown, limit: number): boolean {
  let remaining = limit;
  const take = (value: unknown): void => {
    if (typeof value === "string") remaining -= value.length;
    remaining -= 2;
    if (typeof value !== "object" || value === null) return;
    for (const key in value) {
      if (remaining < 0) return;
      if (!Array.isArray(value)) remaining -= key.length + 3;
      take((value as Record<string, unknown>)[key]);
    }
  };
  take(value);
  return remaining < 0;
}

function protobufLength(object: KubeObject): number {
  try {
    return encodeProtobuf(object).length;
  } catch {
    // A kind that is stored as JSON.
    return Number.POSITIVE_INFINITY;
  }
}
