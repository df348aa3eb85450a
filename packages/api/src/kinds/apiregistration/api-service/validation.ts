import type { FieldErrors } from "../../../checks/field.ts";
import { checkMetadata, checkMetadataUpdate } from "../../../checks/metadata.ts";
import type { APIService, APIServiceSpec, ServiceReference } from "../../../generated/apiregistration/v1.ts";
import { quoted } from "../../../text/quoted.ts";
import { dns1035Label, dnsSubdomain, pathSegment, rangeProblem } from "../../../values/names.ts";

const maxGroupPriority = 20_000;
const maxVersionPriority = 1_000;
const conditionStatuses = ["True", "False", "Unknown"];
const noSpec: APIServiceSpec = { groupPriorityMinimum: 0, versionPriority: 0 };

/** Upstream: staging/src/k8s.io/kube-aggregator/pkg/apis/apiregistration/validation/validation.go */
export const apiServiceValidation = {
  create: checkService,
  update(errors: FieldErrors, service: APIService, old: APIService): void {
    checkMetadataUpdate(errors.at("metadata"), service.metadata, old.metadata);
    checkService(errors, service);
  },
  status(errors: FieldErrors, { metadata, status }: APIService, old: APIService): void {
    checkMetadataUpdate(errors.at("metadata"), metadata, old.metadata);
    for (const [index, condition] of (status?.conditions ?? []).entries())
      if (!conditionStatuses.includes(condition.status ?? ""))
        errors
          .at("status.conditions")
          .index(index)
          .at("status")
          .notSupported(condition.status ?? "", conditionStatuses);
  },
};

function checkService(errors: FieldErrors, { metadata, spec = noSpec }: APIService): void {
  const { group = "", version = "" } = spec;
  const required = `${version}.${group}`;
  checkMetadata(errors.at("metadata"), metadata, (name) => nameProblems(name, required), false);
  if (group === "" && version !== "v1")
    errors.at("spec.group").required("only v1 may have an empty group and it better be legacy kube");
  if (group !== "") errors.at("spec.group").check(dnsSubdomain, group);
  errors.at("spec.version").check(dns1035Label, version);
  checkPriority(errors.at("spec.groupPriorityMinimum"), spec.groupPriorityMinimum, maxGroupPriority);
  checkPriority(errors.at("spec.versionPriority"), spec.versionPriority, maxVersionPriority);
  if (spec.service) checkRemote(errors, spec, spec.service);
  else checkLocal(errors, spec);
}

function nameProblems(name: string, required: string): string[] {
  const problems = pathSegment(name);
  if (problems.length > 0 || name === required) return problems;
  return [`must be \`spec.version+"."+spec.group\`: ${quoted(required)}`];
}

function checkPriority(errors: FieldErrors, priority: number | undefined, max: number): void {
  const value = priority ?? 0;
  if (value <= 0 || value > max) errors.invalid(value, `must be positive and less than ${max}`);
}

function checkLocal(errors: FieldErrors, { caBundle, insecureSkipTLSVerify }: APIServiceSpec): void {
  if (caBundle)
    errors
      .at("spec.caBundle")
      .invalid(
        `${Buffer.from(caBundle, "base64").length} bytes`,
        "local APIServices may not have a caBundle",
      );
  if (insecureSkipTLSVerify)
    errors
      .at("spec.insecureSkipTLSVerify")
      .invalid(true, "local APIServices may not have insecureSkipTLSVerify");
}

function checkRemote(errors: FieldErrors, spec: APIServiceSpec, service: ServiceReference): void {
  if (!service.namespace) errors.at("spec.service.namespace").required();
  if (!service.name) errors.at("spec.service.name").required();
  const port = service.port ?? 443;
  for (const problem of rangeProblem(port, 1, 65_535))
    errors.at("spec.service.port").invalid(port, `port is not valid: ${problem}`);
  if (spec.insecureSkipTLSVerify && spec.caBundle)
    errors.at("spec.insecureSkipTLSVerify").invalid(true, "may not be true if caBundle is present");
}
