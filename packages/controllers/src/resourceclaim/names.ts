/** Ties a generated claim to the entry of the pod that it was generated for. */
export const podClaimAnnotation = "resource.kubernetes.io/pod-claim-name";

/** Maximum length of the base of a generated name: 63 characters less the suffix. */
const maxBaseLength = 57;

/**
 * Returns `<pod>-<entry>-`. If that is too long, both names are cut in proportion: the server would cut off
 * the entry's name alone.
 */
export function claimNameBase(pod: string, entry: string): string {
  const base = `${pod}-${entry}-`;
  if (base.length <= maxBaseLength) return base;
  const cut = (name: string): string =>
    name.slice(0, Math.floor((name.length * maxBaseLength) / base.length));
  return `${cut(pod)}-${cut(entry)}`;
}
