const subdomain = /^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/;

/** Throws for a name that Kubernetes would not take for a driver (ResourceSlice.spec.driver). */
export function checkDriverName(name: unknown): void {
  if (typeof name === "string" && name.length <= 63 && subdomain.test(name)) return;
  throw new Error(
    `driver name ${JSON.stringify(name)} must be a lower-case DNS subdomain of at most 63 characters`,
  );
}
