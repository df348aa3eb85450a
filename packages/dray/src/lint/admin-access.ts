import { type Finding, finding } from "./finding.ts";
import { claimSpecOf, requestsOf } from "./requests.ts";
import { type LintContext, objectOf, type Subject } from "./subjects.ts";

/** The label of a namespace whose claims may have admin access (KEP-5018). */
export const adminAccessLabel = "resource.kubernetes.io/admin-access";

/**
 * Finds requests for admin access (KEP-5018) in namespaces that are not known: they need a label. The API
 * server itself rejects them in a known namespace without it.
 */
export function checkAdminAccess({ world, subjects }: LintContext): Finding[] {
  const namespaces = new Set(
    subjects.flatMap(({ draft, label }) => (draft.kind === "Namespace" ? [label] : [])),
  );
  return subjects.flatMap((subject: Subject): Finding[] => {
    const { namespace = "", stored } = subject;
    const object = objectOf(subject);
    const placed = object && claimSpecOf(object);
    const isKnown =
      world.find("Namespace", namespace) !== undefined || namespaces.has(`Namespace ${namespace}`);
    if (placed === undefined || stored || isKnown) return [];
    const request = requestsOf(placed.spec, placed.path).find(
      ({ body }) => "adminAccess" in body && body.adminAccess === true,
    );
    if (request === undefined) return [];
    const message = `admin access is allowed only in namespaces with the label ${adminAccessLabel}: "true": whether namespace ${namespace} has it is not known`;
    const hints = [`kubectl label namespace ${namespace} ${adminAccessLabel}=true`];
    return [finding("admin-access", subject, `${request.path}.adminAccess`, { message, hints })];
  });
}
