import { isMap, isSeq } from "yaml";
import type { Manifest } from "./manifest.ts";
import { keyOf, setText, textOf } from "./nodes.ts";

const identifier = /^[A-Za-z_]\w*$/;

const quoted = (text: string, quote: string): string => `${quote}${text}${quote}`;

const member = (name: string, quote: string): string =>
  identifier.test(name) ? `.${name}` : `[${quoted(name, quote)}]`;

const unpublishable = (name: string): string =>
  `no driver can publish "${name}": names of attributes are C identifiers (letters, digits and _) now`;

/**
 * Corrects lookups of attributes and capacities, which are by domain, then by name:
 * `device.attributes["gpu.example.com/model"]` was never valid, but is common. KEP-4381, CELDeviceSelector.
 */
export function migrateExpressions(node: unknown, path: string, manifest: Manifest): void {
  if (isSeq(node)) {
    for (const [i, item] of node.items.entries()) migrateExpressions(item, `${path}[${i}]`, manifest);
    return;
  }
  if (!isMap(node)) return;
  for (const pair of node.items) {
    const at = path === "" ? keyOf(pair) : `${path}.${keyOf(pair)}`;
    const expression = at.endsWith("cel.expression") ? textOf(pair.value) : undefined;
    if (expression === undefined) migrateExpressions(pair.value, at, manifest);
    else setText(pair.value, byDomain(expression, at, manifest, pair.value));
  }
}

function byDomain(expression: string, path: string, manifest: Manifest, at: unknown): string {
  return expression.replace(
    /\b(device\.(?:attributes|capacity))\s*\[\s*(["'])([^"'/\]]+)\/([^"'/\]]+)\2\s*\]/g,
    (whole: string, ...[map, quote, domain, name]: [string, string, string, string]) => {
      manifest.changed = true;
      const made = `${map}[${quoted(domain, quote)}]${member(name, quote)}`;
      const more = identifier.test(name) ? "" : `; ${unpublishable(name)}`;
      manifest.note(path, `${whole} is ${made} now: the domain is one key, the name another${more}`, at);
      return made;
    },
  );
}

/**
 * Converts a selector of the named resources of v1alpha2, `attributes.string["model"]`, for devices of a
 * driver; undefined: it has no equivalent.
 * Upstream: k8s.io/dynamic-resource-allocation v0.30, structured/namedresources/cel
 */
export function fromNamedResources(
  expression: string,
  driver: string,
): { readonly expression: string; readonly warnings: readonly string[] } | undefined {
  const warnings: string[] = [];
  const made = expression.replace(
    /(?<![\w.])attributes\.(quantity|bool|int|string|version)\s*(?:\.([A-Za-z_]\w*)|\[\s*(["'])(.+?)\3\s*\])/g,
    (_, type: string, ...[dotted, quote = '"', keyed]: (string | undefined)[]) => {
      // One of the groups has matched.
      const full = dotted ?? keyed!;
      const slash = full.lastIndexOf("/");
      const [domain, name] = slash === -1 ? [driver, full] : [full.slice(0, slash), full.slice(slash + 1)];
      if (!identifier.test(name)) warnings.push(unpublishable(name));
      const map = type === "quantity" ? "device.capacity" : "device.attributes";
      return `${map}[${quoted(domain, quote)}]${member(name, quote)}`;
    },
  );
  return /(?<![\w.])attributes\b/.test(made) ? undefined : { expression: made, warnings };
}
