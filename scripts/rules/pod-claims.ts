import { isOfPackage } from "./beside.ts";
import { type Finding, isNode, type Node, type Source, walk } from "./source.ts";

/** Where the claims of pods are defined, read and validated. */
const home = "packages/api/";

/**
 * `spec.resourceClaims` has not all claims of a pod: one for its extended resources stands in its status only
 * (KEP-5004). `podClaims`, `createdPodClaims` and `hasClaims` of `@dray/api/pod` return all; allowances.json
 * names the files that want the entries of the spec, with the reason.
 */
export function podClaims(sources: readonly Source[]): Finding[] {
  return sources
    .filter(({ isTest, path }) => !isTest && isOfPackage(path) && !path.startsWith(home))
    .filter(({ text }) => /resourceClaims|ClaimStatuses/.test(text))
    .flatMap(({ program, path, lineAt }) => {
      const found: Finding[] = [];
      walk(program, (node) => {
        const name = fieldRead(node);
        if (name === "resourceClaims" || name === "resourceClaimStatuses")
          found.push({
            path,
            line: lineAt(node.start),
            text: `\`${name}\` has not all claims of a pod: use podClaims, createdPodClaims or hasClaims of @dray/api/pod`,
          });
      });
      return found;
    });
}

/** The field that a member expression or a destructuring pattern reads. */
function fieldRead(node: Node): string | undefined {
  if (node.type === "MemberExpression" && node["computed"] !== true) return nameOf(node["property"]);
  if (node.type !== "ObjectPattern") return undefined;
  return (node["properties"] as Node[])
    .map((property) => nameOf(property["key"]))
    .find((name) => name === "resourceClaims" || name === "resourceClaimStatuses");
}

const nameOf = (node: unknown): string | undefined =>
  isNode(node) && node.type === "Identifier" ? String(node["name"]) : undefined;
