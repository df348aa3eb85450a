import { readRegularFile } from "@dray/files";
import type { ContainerConfig } from "../config.ts";
import { RuntimeError } from "../error.ts";
import type { SeccompProfile } from "./seccomp.ts";

const maxProfileBytes = 4 << 20;

export async function seccompProfile({
  security,
  name,
}: ContainerConfig): Promise<SeccompProfile | undefined> {
  const { seccomp } = security;
  if (!seccomp.startsWith("localhost/")) return undefined;
  const path = seccomp.slice("localhost/".length);
  try {
    // Handed on to runc, which reads it; only the checked field is read here.
    const profile = JSON.parse(
      (await readRegularFile(path, { maxBytes: maxProfileBytes })).toString("utf8"),
    ) as SeccompProfile;
    if (typeof profile?.defaultAction !== "string") throw new Error(`${path} has no "defaultAction"`);
    return profile;
  } catch (error) {
    throw new RuntimeError(
      "CreateContainerError",
      `container "${name}": cannot load seccomp profile ${JSON.stringify(path)}: ${(error as Error).message}`,
      { cause: error },
    );
  }
}
