/** Prefix of all keys: `/registry/<resource>/[<namespace>/]<name>`. */
export const registryPrefix = "/registry/";

export function objectKey(resource: string, namespace: string | undefined, name: string): string {
  return namespace === undefined || namespace === ""
    ? `${registryPrefix}${resource}/${name}`
    : `${registryPrefix}${resource}/${namespace}/${name}`;
}

/** Returns the resource of a key; undefined for a key outside the registry. */
export function resourceOfKey(key: string): string | undefined {
  if (!key.startsWith(registryPrefix)) return undefined;
  const end = key.indexOf("/", registryPrefix.length);
  return end < 0 ? undefined : key.slice(registryPrefix.length, end);
}
