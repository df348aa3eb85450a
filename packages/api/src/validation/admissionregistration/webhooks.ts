import type {
  MutatingWebhook,
  MutatingWebhookConfiguration,
  ServiceReference,
  ValidatingWebhook,
  ValidatingWebhookConfiguration,
} from "../../generated/admissionregistration/v1.ts";
import { quoted } from "../../text/quoted.ts";
import { dns1035Label, dnsSubdomain, rangeProblem } from "../../values/names.ts";
import type { ValidationContext } from "../context.ts";
import { FieldErrors, sameValue } from "../field.ts";
import { checkMetadata } from "../metadata.ts";
import { checkLabelSelector } from "../nodeselector.ts";
import { checkMatchConditions, checkRule, matchPolicies } from "./matching.ts";
import { failurePolicies, reinvocationPolicies } from "./policy-common.ts";

type Webhook = ValidatingWebhook | MutatingWebhook;
type Configuration = ValidatingWebhookConfiguration | MutatingWebhookConfiguration;

/** What an update may keep because the stored object has it, too. */
interface Allowed {
  readonly sideEffects: boolean;
  readonly unknownReviews: boolean;
  readonly sameNames: boolean;
  readonly labelValues: boolean;
  readonly conditions: boolean;
}

const noSideEffects = ["None", "NoneOnDryRun"];
const sideEffects = ["None", "NoneOnDryRun", "Some", "Unknown"];
/** Versions of AdmissionReview that we speak. */
const reviewVersions = ["v1", "v1beta1"];

function allowedBy(webhooks: readonly Webhook[], old: readonly Webhook[] | undefined): Allowed {
  return {
    sideEffects: old?.some((webhook) => !noSideEffects.includes(webhook.sideEffects ?? "")) ?? false,
    unknownReviews:
      old?.some(({ admissionReviewVersions }) => {
        const versions = admissionReviewVersions ?? [];
        return versions.length > 0 && !versions.some((version) => reviewVersions.includes(version));
      }) ?? false,
    sameNames: old !== undefined && new Set(old.map(({ name }) => name)).size < old.length,
    labelValues: old?.some(hasWrongSelector) ?? false,
    conditions:
      old !== undefined &&
      old.length === webhooks.length &&
      old.every((webhook, i) => sameValue(webhook.matchConditions, webhooks[i]!.matchConditions)),
  };
}

function hasWrongSelector({ namespaceSelector, objectSelector }: Webhook): boolean {
  const errors = new FieldErrors();
  for (const selector of [namespaceSelector, objectSelector]) {
    if (selector) checkLabelSelector(errors, "", selector);
  }
  return errors.list.length > 0;
}

function checkConfiguration(
  errors: FieldErrors,
  configuration: Configuration,
  old: Configuration | undefined,
  context: ValidationContext,
): void {
  checkMetadata(errors, "metadata", configuration.metadata, dnsSubdomain, false);
  const webhooks: readonly Webhook[] = configuration.webhooks ?? [];
  const allowed = allowedBy(webhooks, old && (old.webhooks ?? []));
  const names = new Set<string>();
  webhooks.forEach((webhook, i) => {
    const path = `webhooks[${i}]`;
    checkWebhook(errors, path, webhook, allowed, context);
    checkReviews(errors, `${path}.admissionReviewVersions`, webhook.admissionReviewVersions ?? [], allowed);
    if (allowed.sameNames || !webhook.name) return;
    if (names.has(webhook.name)) errors.duplicate(`${path}.name`, webhook.name);
    names.add(webhook.name);
  });
}

function checkWebhook(
  errors: FieldErrors,
  path: string,
  webhook: Webhook,
  allowed: Allowed,
  context: ValidationContext,
): void {
  checkQualifiedName(errors, `${path}.name`, webhook.name ?? "");
  (webhook.rules ?? []).forEach((rule, i) => {
    checkRule(errors, `${path}.rules[${i}]`, rule);
  });
  const known = (field: string, value: string | undefined, values: readonly string[]): void => {
    if (value !== undefined && !values.includes(value))
      errors.notSupported(`${path}.${field}`, value, values);
  };
  known("failurePolicy", webhook.failurePolicy, failurePolicies);
  known("matchPolicy", webhook.matchPolicy, matchPolicies);
  const effects = allowed.sideEffects ? sideEffects : noSideEffects;
  if (!webhook.sideEffects)
    errors.required(`${path}.sideEffects`, `must specify one of ${effects.join(", ")}`);
  else known("sideEffects", webhook.sideEffects, effects);
  const { timeoutSeconds: timeout } = webhook;
  if (timeout !== undefined && (timeout > 30 || timeout < 1)) {
    const detail = "the timeout value must be between 1 and 30 seconds";
    errors.invalid(`${path}.timeoutSeconds`, timeout, detail);
  }
  for (const name of ["namespaceSelector", "objectSelector"] as const) {
    const selector = webhook[name];
    if (selector) checkLabelSelector(errors, `${path}.${name}`, selector, allowed.labelValues);
  }
  if ("reinvocationPolicy" in webhook)
    known("reinvocationPolicy", webhook.reinvocationPolicy, reinvocationPolicies);
  const { url, service } = webhook.clientConfig ?? {};
  if ((url === undefined) === (service === undefined))
    errors.required(`${path}.clientConfig`, "exactly one of url or service is required");
  else if (url !== undefined) checkUrl(errors, `${path}.clientConfig.url`, url);
  else if (service !== undefined) checkService(errors, `${path}.clientConfig.service`, service);
  if (allowed.conditions) return;
  const expressions = context.admissionExpressions?.({ composes: false });
  checkMatchConditions(errors, `${path}.matchConditions`, webhook.matchConditions, expressions, false);
}

/** At least three segments: `gate.webhooks.example.com`. */
function checkQualifiedName(errors: FieldErrors, path: string, name: string): void {
  if (name === "") {
    errors.required(path);
    return;
  }
  const problems = dnsSubdomain(name);
  if (problems.length > 0) errors.invalid(path, name, problems.join(","));
  else if (name.split(".").length < 3)
    errors.invalid(path, name, "should be a domain with at least three segments separated by dots");
}

function checkReviews(
  errors: FieldErrors,
  path: string,
  versions: readonly string[],
  allowed: Allowed,
): void {
  if (versions.length === 0) {
    errors.required(path, `must specify one of ${reviewVersions.join(", ")}`);
    return;
  }
  const seen = new Set<string>();
  versions.forEach((version, i) => {
    if (seen.has(version)) errors.invalid(`${path}[${i}]`, version, "duplicate version");
    else errors.check(dns1035Label, `${path}[${i}]`, version);
    seen.add(version);
  });
  if (allowed.unknownReviews || versions.some((version) => reviewVersions.includes(version))) return;
  errors.invalid(path, versions, `must include at least one of ${reviewVersions.join(", ")}`);
}

const urlForm =
  /^(?:(?<scheme>[a-zA-Z][a-zA-Z0-9+.-]*):)?(?:\/\/(?<authority>[^/?#]*))?[^?#]*(?:\?(?<query>[^#]*))?(?:#(?<fragment>.*))?$/s;

/** Where a webhook is: `https://host[/path]` and nothing else. */
export function checkUrl(errors: FieldErrors, path: string, url: string): void {
  const form = "; desired format: https://host[/path]";
  const unreadable = urlProblem(url);
  if (unreadable !== undefined) {
    errors.required(path, `url must be a valid URL: parse ${quoted(url)}: ${unreadable}${form}`);
    return;
  }
  const { scheme = "", authority = "", query, fragment } = urlForm.exec(url)?.groups ?? {};
  const at = authority.lastIndexOf("@");
  const host = authority.slice(at + 1);
  if (scheme.toLowerCase() !== "https")
    errors.invalid(path, scheme.toLowerCase(), `'https' is the only allowed URL scheme${form}`);
  if (host === "") errors.invalid(path, host, `host must be specified${form}`);
  if (at >= 0) errors.invalid(path, authority.slice(0, at), "user information is not permitted in the URL");
  if (fragment) errors.invalid(path, fragment, "fragments are not permitted in the URL");
  if (query) errors.invalid(path, query, "query parameters are not permitted in the URL");
}

/** Why Go cannot read it as a URL. */
function urlProblem(url: string): string | undefined {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what a URL must not have.
  if (/[\u0000-\u001f\u007f]/.test(url)) return "net/url: invalid control character in URL";
  if (url.startsWith(":")) return "missing protocol scheme";
  const { scheme, authority } = urlForm.exec(url)?.groups ?? {};
  if (scheme === undefined && authority === undefined && /^[^/?#]*:/.test(url))
    return "first path segment in URL cannot contain colon";
  const host = (authority ?? "").replace(/^.*@/, "");
  const wrong = /[ \\^`{|}]/.exec(host)?.[0];
  if (wrong !== undefined) return `invalid character ${quoted(wrong)} in host name`;
  const port = /(:[^:\]]*)$/.exec(host)?.[1];
  if (port !== undefined && !/^:\d*$/.test(port)) return `invalid port ${quoted(port)} after host`;
  const broken = /%(?![0-9a-fA-F]{2}).{0,2}/.exec(url)?.[0];
  return broken === undefined ? undefined : `invalid URL escape ${quoted(broken)}`;
}

/** Which service leads to a webhook. */
export function checkService(
  errors: FieldErrors,
  at: string,
  { name, namespace, path, port }: ServiceReference,
): void {
  if (!name) errors.required(`${at}.name`);
  if (!namespace) errors.required(`${at}.namespace`);
  const wrong = rangeProblem(port ?? 0, 1, 65535);
  if (wrong.length > 0) errors.invalid(`${at}.port`, port ?? 0, `port is not valid: ${wrong.join(", ")}`);
  if (path === undefined || path === "" || path === "/") return;
  const invalid = (detail: string): void => errors.invalid(`${at}.path`, path, detail);
  if (path === "//") {
    invalid("segment[0] may not be empty");
    return;
  }
  if (!path.startsWith("/")) invalid("must start with a '/'");
  path
    .slice(1)
    .replace(/\/$/, "")
    .split("/")
    .forEach((segment, i) => {
      if (segment === "") invalid(`segment[${i}] may not be empty`);
      else for (const problem of dnsSubdomain(segment)) invalid(`segment[${i}]: ${problem}`);
    });
}

/** ValidatingWebhookConfiguration and MutatingWebhookConfiguration. */
export const webhookConfiguration = {
  create: (errors: FieldErrors, configuration: Configuration, context: ValidationContext): void =>
    checkConfiguration(errors, configuration, undefined, context),
  update: checkConfiguration,
};
