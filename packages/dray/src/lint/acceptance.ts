import type { KubeObject, StatusError } from "@dray/api";
import { podSpecsOf } from "@dray/api/pod";
import { checkSelector } from "../cel/check-device-expression.ts";
import { expressionsOf } from "../cel/expressions.ts";
import { claimNameHints, groupOf, versionOf } from "../manifests/decode.ts";
import { olderVersionHints } from "../manifests/older-dra.ts";
import { valueAt } from "../manifests/selectors.ts";
import type { Answer, TrialServer } from "../trial-server/server.ts";
import { trialObject } from "../trial-server/trial-object.ts";
import { writtenPath } from "../trial-server/written-path.ts";
import { adminAccessLabel } from "./admin-access.ts";
import { type Finding, finding, unreadableFinding } from "./finding.ts";
import type { RuleId } from "./rules.ts";
import type { LintContext, Subject } from "./subjects.ts";

/** Dependencies first, then the order of the files. */
const first = ["Namespace", "CustomResourceDefinition", "PriorityClass"];
const rank = ({ draft }: Subject): number => {
  const index = first.indexOf(draft.kind);
  return index < 0 ? first.length : index;
};

/** Namespaces outside of the manifests may have this label (KEP-5018). */
const adminLabel = { [adminAccessLabel]: "true" };

/** Creates every new manifest in the server; `unasked` receives those of kinds that it lacks. */
export async function checkAcceptance(
  context: LintContext,
  server: TrialServer,
  unasked: Subject[],
  onProgress: (text: string) => void,
): Promise<Finding[]> {
  await prepare(context, server);
  const findings: Finding[] = [];
  const subjects = context.subjects.toSorted((a, b) => rank(a) - rank(b));
  for (const [i, subject] of subjects.entries()) {
    onProgress(`Checking objects: ${i} of ${subjects.length}`);
    if (subject.stored || subject.problems.some(({ rule }) => rule === "wrong-type")) continue;
    try {
      const path = await collectionOf(subject, context, server);
      if (path === undefined) {
        unasked.push(subject);
        continue;
      }
      const answer = await server.create(path, trialObject(subject.draft, subject.namespace));
      for (const each of findingsOf(subject, answer, context)) findings.push(each);
    } catch (error) {
      findings.push(unreadableFinding(subject, error));
    }
  }
  return findings;
}

/** Creates the objects of the cluster that admission reads. */
async function prepare({ subjects, cluster }: LintContext, server: TrialServer): Promise<void> {
  const own = new Set(subjects.flatMap(({ draft, label }) => (draft.kind === "Namespace" ? [label] : [])));
  const used = new Set(subjects.flatMap(({ namespace }) => namespace ?? []));
  for (const name of used) {
    if (own.has(`Namespace ${name}`)) continue;
    const labels = cluster.find("Namespace", name)?.metadata.labels ?? adminLabel;
    await server.create("/api/v1/namespaces", {
      apiVersion: "v1",
      kind: "Namespace",
      metadata: { name, labels },
    });
  }
  for (const { object } of cluster.all("PriorityClass")) {
    const { metadata, ...rest } = object;
    await server.create("/apis/scheduling.k8s.io/v1/priorityclasses", {
      ...rest,
      metadata: { name: metadata.name },
    });
  }
}

/** Returns the path of the collection of a manifest. */
async function collectionOf(
  { draft, row, namespace }: Subject,
  { subjects }: LintContext,
  server: TrialServer,
): Promise<string | undefined> {
  const { apiVersion } = draft;
  const root = apiVersion.includes("/") ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  const inNamespace = (resource: string, namespaced: boolean): string =>
    namespaced ? `${root}/namespaces/${namespace ?? "default"}/${resource}` : `${root}/${resource}`;
  if (row !== undefined) return inNamespace(row.resource, row.namespaced);
  const group = groupOf(apiVersion);
  for (const { draft: other } of subjects) {
    const spec = other.tree["spec"] as
      | { group?: unknown; scope?: unknown; names?: { kind?: unknown; plural?: unknown } }
      | undefined;
    if (other.kind !== "CustomResourceDefinition" || spec?.group !== group) continue;
    const { kind, plural } = spec.names ?? {};
    if (kind !== draft.kind || typeof plural !== "string") continue;
    if (await server.serves(group, versionOf(apiVersion), plural))
      return inNamespace(plural, spec.scope === "Namespaced");
  }
  return undefined;
}

function findingsOf(subject: Subject, { error, warnings }: Answer, context: LintContext): Finding[] {
  return [...warnings.map((text) => fromWarning(subject, text)), ...fromError(subject, error, context)];
}

function fromWarning(subject: Subject, text: string): Finding {
  if (/ is deprecated in v\d/.test(text))
    return finding("deprecated-version", subject, "apiVersion", {
      message: text,
      hints: olderVersionHints(subject.draft),
    });
  const path = /^([a-z][\w.[\]/-]*): /.exec(text)?.[1] ?? "";
  return finding("server-warning", subject, path, { message: text });
}

function fromError(subject: Subject, error: StatusError | undefined, context: LintContext): Finding[] {
  if (error === undefined) return [];
  const { message } = error;
  const { causes = [] } = error.status.details ?? {};
  if (error.reason === "Invalid" && causes.length > 0) {
    const namespace = subject.namespace ?? "";
    const expressions = new Set(expressionsOf(subject.draft, namespace).map(({ path }) => path));
    return causes.map(({ field: reported = "", message: why = "", reason = "" }) => {
      const field = writtenPath(reported);
      return finding(ruleOf(field, reason, expressions), subject, field, {
        message: `${field}: ${why}`,
        hints: hintsFor(subject, field, context),
      });
    });
  }
  // The release does not have the kind, which another check reports.
  if (error.code === 404) return [];
  if (error.reason !== "Forbidden") return [finding("invalid", subject, "", { message })];
  // The check of pods reports the same for workloads.
  return /no PriorityClass with name/.test(message) ? [] : [finding("forbidden", subject, "", { message })];
}

function ruleOf(path: string, reason: string, expressions: ReadonlySet<string>): RuleId {
  if (reason === "FieldValueNotFound" && /\.resources\.claims\[\d+\]/.test(path)) return "undeclared-claim";
  // Paths of resource.k8s.io are reported in the form of v1, whatever the version of the manifest.
  return expressions.has(path) || /(?:^|\.)expression$/.test(path) ? "invalid-selector" : "invalid";
}

function hintsFor({ decoded }: Subject, path: string, { features }: LintContext): readonly string[] {
  const object: KubeObject | undefined = decoded?.object;
  if (object === undefined) return [];
  if (path.endsWith(".cel.expression")) {
    const expression = valueAt(object, path);
    const verdict = typeof expression === "string" ? checkSelector(expression, features, true) : undefined;
    return verdict?.valid === false ? verdict.hints : [];
  }
  return podSpecsOf(object).flatMap(({ spec, path: at }) => claimNameHints(path, spec, at));
}
