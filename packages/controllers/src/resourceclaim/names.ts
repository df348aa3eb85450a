/** Ties a generated claim to the entry of the pod that it was generated for. */
export const podClaimAnnotation = "resource.kubernetes.io/pod-claim-name";

/** What is left of 63 characters for the base of a generated name. */
const longestBase = 57;

/**
 * `<pod>-<entry>-`. Where that is too long both names are cut in proportion: the server would cut off the
 * entry's name alone.
 */
export function claimNameBase(pod: string, entry: string): string {
  const base = `${pod}-${entry}-`;
  if (base.length <= longestBase) return base;
  const cut = (name: string): string => name.slice(0, Math.floor((name.length * longestBase) / base.length));
  return `${cut(pod)}-${cut(entry)}`;
}
