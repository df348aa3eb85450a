import { dns1035Label } from "@dray/api";
import { checkWebhookService, checkWebhookUrl, type FieldErrors } from "@dray/api/validation";
import type { Definition } from "./types.ts";

/** Versions of ConversionReview that the API accepts. */
const known = ["v1", "v1beta1"];

/** Validates `spec.conversion`. */
export function checkConversion(
  errors: FieldErrors,
  definition: Definition,
  old: Definition | undefined,
): void {
  const { conversion } = definition.spec;
  if (conversion === undefined) return;
  const path = "spec.conversion";
  errors.oneOf(`${path}.strategy`, conversion.strategy, ["None", "Webhook"]);
  const client = conversion.webhook?.clientConfig;
  const versions = conversion.webhook?.conversionReviewVersions ?? [];
  if (conversion.strategy !== "Webhook") {
    const detail = "should not be set when strategy is not set to Webhook";
    if (client !== undefined) errors.forbidden(`${path}.webhookClientConfig`, detail);
    if (versions.length > 0) errors.forbidden(`${path}.conversionReviewVersions`, detail);
    return;
  }
  if (client === undefined) {
    errors.required(`${path}.webhookClientConfig`, "required when strategy is set to Webhook");
  } else if ((client.url === undefined) === (client.service === undefined)) {
    errors.required(`${path}.webhookClientConfig`, "exactly one of url or service is required");
  } else if (client.url !== undefined) {
    checkWebhookUrl(errors, `${path}.webhookClientConfig.url`, client.url);
  } else if (client.service !== undefined) {
    checkWebhookService(errors, `${path}.webhookClientConfig.service`, client.service);
  }
  const before = old?.spec.conversion?.webhook?.conversionReviewVersions ?? [];
  checkVersions(errors, `${path}.conversionReviewVersions`, versions, before);
}

function checkVersions(
  errors: FieldErrors,
  path: string,
  versions: readonly string[],
  before: readonly string[],
): void {
  if (versions.length === 0) {
    errors.required(path);
    return;
  }
  const seen = new Set<string>();
  versions.forEach((version, index) => {
    if (seen.has(version)) {
      errors.invalid(`${path}[${index}]`, version, "duplicate version");
      return;
    }
    seen.add(version);
    errors.check(dns1035Label, `${path}[${index}]`, version);
  });
  const mayBeUnknown = before.length > 0 && !before.some((version) => known.includes(version));
  if (!mayBeUnknown && !versions.some((version) => known.includes(version))) {
    errors.invalid(path, versions, `must include at least one of ${known.join(", ")}`);
  }
}
