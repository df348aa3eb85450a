import type { Features } from "@dray/api";
import { kindOf } from "@dray/api/codec";
import type { KindRow } from "@dray/api/schema";
import { groupOf, versionOf } from "../manifests/decode.ts";
import type { Draft } from "../manifests/documents.ts";
import type { ServerRules, TrialServer } from "../trial-server/server.ts";
import { trialObject } from "../trial-server/trial-object.ts";
import { writtenPath } from "../trial-server/written-path.ts";
import { type Accepted, checkDeviceExpression, type Rejected } from "./check-device-expression.ts";
import type { FoundExpression } from "./expressions.ts";

/** An expression that the API server accepts, which reports no more about it. */
export interface AcceptedByServer {
  readonly valid: true;
  readonly warnings: readonly string[];
}

/** An expression that could not be checked. */
export interface Unchecked {
  readonly valid: null;
  readonly error: string;
  /** The cause is the manifest, not a limit of Dray. */
  readonly wrong: boolean;
}

export interface Judged {
  readonly found: FoundExpression;
  readonly verdict: Accepted | Rejected | AcceptedByServer | Unchecked;
}

/** The server that expressions are for. */
export interface ExpressionTarget {
  readonly features: Features;
  readonly rules: ServerRules;
  /** The expression is not stored yet. */
  readonly isFresh: (found: FoundExpression) => boolean;
}

/**
 * Checks expressions; those outside of device selectors by creating their objects in an API server in memory.
 */
export async function checkExpressions(
  expressions: readonly FoundExpression[],
  { features, rules, isFresh }: ExpressionTarget,
  onProgress: (done: number) => void,
): Promise<Judged[]> {
  // Most manifests do not need the server, which takes long to load.
  let server: TrialServer | undefined;
  const answers = new Map<Draft, ObjectAnswer>();
  const judged: Judged[] = [];
  try {
    for (const [i, found] of expressions.entries()) {
      onProgress(i);
      const { draft, kind, expression } = found;
      if (kind === "selector" || kind === "attribute") {
        judged.push({ found, verdict: checkDeviceExpression(expression, features, isFresh(found), kind) });
        continue;
      }
      server ??= await (await import("../trial-server/server.ts")).TrialServer.start(rules);
      const answer = answers.get(draft) ?? (await ask(server, draft, features));
      answers.set(draft, answer);
      judged.push({ found, verdict: verdictOf(found, answer) });
    }
  } finally {
    await server?.close();
  }
  return judged;
}

/** Problems that a server reports: by path of the field, and all others. */
interface ObjectAnswer {
  readonly byPath: ReadonlyMap<string, string>;
  readonly other: string | undefined;
}

async function ask(server: TrialServer, draft: Draft, features: Features): Promise<ObjectAnswer> {
  const row: KindRow | undefined = kindOf(groupOf(draft.apiVersion), versionOf(draft.apiVersion), draft.kind);
  const unserved = `Kubernetes ${features.version} has no ${draft.kind} in ${draft.apiVersion}`;
  if (row === undefined) return { byPath: new Map(), other: unserved };
  const { error } = await server.create(`/apis/${draft.apiVersion}/${row.resource}`, trialObject(draft));
  if (error === undefined) return { byPath: new Map(), other: undefined };
  if (error.code === 404) return { byPath: new Map(), other: unserved };
  const { causes = [] } = error.status.details ?? {};
  if (error.reason !== "Invalid" || causes.length === 0) return { byPath: new Map(), other: error.message };
  const byPath = new Map(causes.map(({ field = "", message = "" }) => [field, message]));
  const other = causes.find(({ field = "" }) => !isExpression.test(field));
  return { byPath, other: other && `${writtenPath(other.field ?? "")}: ${other.message}` };
}

const isExpression = /[eE]xpression$|\.rule$/;

function verdictOf(
  { path }: FoundExpression,
  { byPath, other }: ObjectAnswer,
): Rejected | AcceptedByServer | Unchecked {
  for (const [field, message] of byPath) {
    if (writtenPath(field, path) !== path) continue;
    // The value repeats the expression.
    const error = /compilation failed: .*/s.exec(message)?.[0] ?? message;
    return { valid: false, error, hints: [] };
  }
  const rule = path.replace(/\.messageExpression$/, ".rule");
  if (rule !== path && [...byPath.keys()].some((field) => writtenPath(field, path) === rule))
    return { valid: null, error: "its rule does not compile", wrong: false };
  if (other !== undefined) return { valid: null, error: other, wrong: true };
  return { valid: true, warnings: [] };
}
