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
  const here = errors.at("spec.conversion");
  here.at("strategy").oneOf(conversion.strategy, ["None", "Webhook"]);
  const client = conversion.webhook?.clientConfig;
  const versions = conversion.webhook?.conversionReviewVersions ?? [];
  if (conversion.strategy !== "Webhook") {
    const detail = "should not be set when strategy is not set to Webhook";
    if (client !== undefined) here.at("webhookClientConfig").forbidden(detail);
    if (versions.length > 0) here.at("conversionReviewVersions").forbidden(detail);
    return;
  }
  if (client === undefined) {
    here.at("webhookClientConfig").required("required when strategy is set to Webhook");
  } else if ((client.url === undefined) === (client.service === undefined)) {
    here.at("webhookClientConfig").required("exactly one of url or service is required");
  } else if (client.url !== undefined) {
    checkWebhookUrl(here.at("webhookClientConfig.url"), client.url);
  } else if (client.service !== undefined) {
    checkWebhookService(here.at("webhookClientConfig.service"), client.service);
  }
  const before = old?.spec.conversion?.webhook?.conversionReviewVersions ?? [];
  checkVersions(here.at("conversionReviewVersions"), versions, before);
}

function checkVersions(errors: FieldErrors, versions: readonly string[], before: readonly string[]): void {
  if (versions.length === 0) {
    errors.required();
    return;
  }
  const seen = new Set<string>();
  versions.forEach((version, index) => {
    if (seen.has(version)) {
      errors.index(index).invalid(version, "duplicate version");
      return;
    }
    seen.add(version);
    errors.index(index).check(dns1035Label, version);
  });
  const mayBeUnknown = before.length > 0 && !before.some((version) => known.includes(version));
  if (!mayBeUnknown && !versions.some((version) => known.includes(version))) {
    errors.invalid(versions, `must include at least one of ${known.join(", ")}`);
  }
}
