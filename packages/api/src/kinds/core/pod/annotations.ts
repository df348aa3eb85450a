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

export function checkPodAnnotations(errors: FieldErrors, annotations: Annotations, spec: PodSpec): void {
  const { containers, initContainers, ephemeralContainers } = spec;
  const names = new Set(
    [...(initContainers ?? []), ...(containers ?? []), ...(ephemeralContainers ?? [])].map(
      ({ name }) => name,
    ),
  );
  for (const [key, value] of Object.entries(annotations ?? {})) {
    const here = errors.key(key);
    if (key === mirrorAnnotation && !spec.nodeName) {
      here.invalid(value, "must set spec.nodeName if mirror pod annotation is set");
    }
    if (key === deletionCost && !isInt32(value)) here.invalid(value, "must be a 32bit integer");
    // Here upstream's path has no brackets.
    if (key === seccompPod || key.startsWith(seccompPrefix)) checkSeccomp(errors.at(key), value);
    if (key.startsWith(appArmorPrefix)) checkAppArmor(here, key.slice(appArmorPrefix.length), value, names);
  }
}

/** Neither a plus nor zeros before the number. */
function isInt32(text: string): boolean {
  return /^(0|-\d+|[1-9]\d*)$/.test(text) && BigInt.asIntN(32, BigInt(text)) === BigInt(text);
}

function checkSeccomp(errors: FieldErrors, profile: string): void {
  if (["runtime/default", "docker/default", "unconfined"].includes(profile)) return;
  if (profile.startsWith("localhost/")) checkLocalPath(errors, profile.slice("localhost/".length));
  else errors.invalid(profile, "must be a valid seccomp profile");
}

function checkAppArmor(
  errors: FieldErrors,
  container: string,
  profile: string,
  names: ReadonlySet<string>,
): void {
  if (!names.has(container)) errors.invalid(container, "container not found");
  const known = ["", "runtime/default", "unconfined"].includes(profile) || profile.startsWith("localhost/");
  if (!known) errors.invalid(profile, `invalid AppArmor profile name: ${quoted(profile)}`);
}

/** Rejects changes of a pod's AppArmor annotations and of its mirror annotation. */
export function checkPodAnnotationsUpdate(errors: FieldErrors, pod: Pod, old: Pod): void {
  const now = pod.metadata.annotations ?? {};
  const before = old.metadata.annotations ?? {};
  for (const key of Object.keys(before)) {
    if (now[key] === before[key]) continue;
    refuse(errors, key, "remove or update");
  }
  for (const key of Object.keys(now)) if (!Object.hasOwn(before, key)) refuse(errors, key, "add");
  checkPodAnnotations(errors, now, pod.spec ?? { containers: [] });
}

function refuse(errors: FieldErrors, key: string, verb: string): void {
  if (key.startsWith(appArmorPrefix)) errors.key(key).forbidden(`may not ${verb} AppArmor annotations`);
  if (key === mirrorAnnotation) errors.key(key).forbidden(`may not ${verb} mirror pod annotation`);
}

/** In a new pod a container's AppArmor annotation and the field that concerns it say the same. */
export function checkAppArmorMatch(errors: FieldErrors, { metadata, spec }: Pod): void {
  if (!spec || spec.os?.name === "windows") return;
  for (const list of ["initContainers", "containers", "ephemeralContainers"] as const) {
    (spec[list] ?? []).forEach(({ name, securityContext }, index) => {
      const annotation = metadata.annotations?.[`${appArmorPrefix}${name}`];
      const profile = securityContext?.appArmorProfile ?? spec.securityContext?.appArmorProfile;
      if (annotation === undefined || !profile) return;
      const here = errors.at("spec").at(list).index(index).at("securityContext.appArmorProfile");
      const local = profile.type === "Localhost" && annotation.startsWith("localhost/");
      if (local && annotation !== `localhost/${profile.localhostProfile}`) {
        here.at("localhostProfile").forbidden("apparmor profile in annotation and field must match");
      }
      const plain: Readonly<Record<string, string>> = {
        Unconfined: "unconfined",
        RuntimeDefault: "runtime/default",
      };
      const known = profile.type === "Localhost" || Object.hasOwn(plain, profile.type ?? "");
      if (known && !local && annotation !== plain[profile.type ?? ""])
        here.at("type").forbidden("apparmor type in annotation and field must match");
    });
  }
}
