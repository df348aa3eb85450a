/** Annotations of pods that mean something to the server (ValidatePodSpecificAnnotations upstream). */

import type { FieldErrors } from "../../../checks/field.ts";
import type { Pod, PodSpec } from "../../../generated/core/v1.ts";
import { quoted } from "../../../text/quoted.ts";
import { checkLocalPath } from "./paths.ts";

/** Marks what the API server shows of a static pod of a node. */
export const mirrorAnnotation = "kubernetes.io/config.mirror";
const deletionCost = "controller.kubernetes.io/pod-deletion-cost";
const appArmorPrefix = "container.apparmor.security.beta.kubernetes.io/";
const seccompPod = "seccomp.security.alpha.kubernetes.io/pod";
const seccompPrefix = "container.seccomp.security.alpha.kubernetes.io/";

type Annotations = Readonly<Record<string, string>> | undefined;

export function checkPodAnnotations(
  errors: FieldErrors,
  path: string,
  annotations: Annotations,
  spec: PodSpec,
): void {
  const { containers, initContainers, ephemeralContainers } = spec;
  const names = new Set(
    [...(initContainers ?? []), ...(containers ?? []), ...(ephemeralContainers ?? [])].map(
      ({ name }) => name,
    ),
  );
  for (const [key, value] of Object.entries(annotations ?? {})) {
    const at = `${path}[${key}]`;
    if (key === mirrorAnnotation && !spec.nodeName) {
      errors.invalid(at, value, "must set spec.nodeName if mirror pod annotation is set");
    }
    if (key === deletionCost && !isInt32(value)) errors.invalid(at, value, "must be a 32bit integer");
    // Here upstream's path has no brackets.
    if (key === seccompPod || key.startsWith(seccompPrefix)) checkSeccomp(errors, `${path}.${key}`, value);
    if (key.startsWith(appArmorPrefix))
      checkAppArmor(errors, at, key.slice(appArmorPrefix.length), value, names);
  }
}

/** Neither a plus nor zeros before the number. */
function isInt32(text: string): boolean {
  return /^(0|-\d+|[1-9]\d*)$/.test(text) && BigInt.asIntN(32, BigInt(text)) === BigInt(text);
}

function checkSeccomp(errors: FieldErrors, path: string, profile: string): void {
  if (["runtime/default", "docker/default", "unconfined"].includes(profile)) return;
  if (profile.startsWith("localhost/")) checkLocalPath(errors, path, profile.slice("localhost/".length));
  else errors.invalid(path, profile, "must be a valid seccomp profile");
}

function checkAppArmor(
  errors: FieldErrors,
  path: string,
  container: string,
  profile: string,
  names: ReadonlySet<string>,
): void {
  if (!names.has(container)) errors.invalid(path, container, "container not found");
  const known = ["", "runtime/default", "unconfined"].includes(profile) || profile.startsWith("localhost/");
  if (!known) errors.invalid(path, profile, `invalid AppArmor profile name: ${quoted(profile)}`);
}

/** Rejects changes of a pod's AppArmor annotations and of its mirror annotation. */
export function checkPodAnnotationsUpdate(errors: FieldErrors, path: string, pod: Pod, old: Pod): void {
  const now = pod.metadata.annotations ?? {};
  const before = old.metadata.annotations ?? {};
  for (const key of Object.keys(before)) {
    if (now[key] === before[key]) continue;
    refuse(errors, path, key, "remove or update");
  }
  for (const key of Object.keys(now)) if (!Object.hasOwn(before, key)) refuse(errors, path, key, "add");
  checkPodAnnotations(errors, path, now, pod.spec ?? { containers: [] });
}

function refuse(errors: FieldErrors, path: string, key: string, verb: string): void {
  if (key.startsWith(appArmorPrefix))
    errors.forbidden(`${path}[${key}]`, `may not ${verb} AppArmor annotations`);
  if (key === mirrorAnnotation) errors.forbidden(`${path}[${key}]`, `may not ${verb} mirror pod annotation`);
}

/** In a new pod a container's AppArmor annotation and the field that concerns it say the same. */
export function checkAppArmorMatch(errors: FieldErrors, { metadata, spec }: Pod): void {
  if (!spec || spec.os?.name === "windows") return;
  for (const list of ["initContainers", "containers", "ephemeralContainers"] as const) {
    (spec[list] ?? []).forEach(({ name, securityContext }, index) => {
      const annotation = metadata.annotations?.[`${appArmorPrefix}${name}`];
      const profile = securityContext?.appArmorProfile ?? spec.securityContext?.appArmorProfile;
      if (annotation === undefined || !profile) return;
      const path = `spec.${list}[${index}].securityContext.appArmorProfile`;
      const local = profile.type === "Localhost" && annotation.startsWith("localhost/");
      if (local && annotation !== `localhost/${profile.localhostProfile}`) {
        errors.forbidden(`${path}.localhostProfile`, "apparmor profile in annotation and field must match");
      }
      const plain: Readonly<Record<string, string>> = {
        Unconfined: "unconfined",
        RuntimeDefault: "runtime/default",
      };
      const known = profile.type === "Localhost" || Object.hasOwn(plain, profile.type ?? "");
      if (known && !local && annotation !== plain[profile.type ?? ""])
        errors.forbidden(`${path}.type`, "apparmor type in annotation and field must match");
    });
  }
}
