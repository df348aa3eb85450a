import { addressFamily, checkLegacyAddress } from "../../../checks/address.ts";
import type { ValidationContext } from "../../../checks/context.ts";
import { type FieldErrors, printedList } from "../../../checks/field.ts";
import { checkObject, checkObjectUpdate } from "../../../checks/objects.ts";
import type {
  HTTPIngressPath,
  Ingress,
  IngressBackend,
  IngressRule,
} from "../../../generated/networking/v1.ts";
import { dnsSubdomain, isPortName, type NameRule } from "../../../values/names.ts";
import { checkPort } from "../../core/pod/probes.ts";
import { checkHost, checkReference, serviceNameRule } from "../common.ts";

const wildcardForm = "\\*\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";
const wildcardPattern = new RegExp(`^${wildcardForm}$`);

/** `*.example.com`. */
const wildcardSubdomain: NameRule = (value) => {
  const problems = value.length > 253 ? ["must be no more than 253 characters"] : [];
  if (wildcardPattern.test(value)) return problems;
  return [
    ...problems,
    "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of lower case " +
      `alphanumeric characters, '-' or '.' and end with an alphanumeric character (e.g. '*.example.com', regex used for validation is '${wildcardForm}')`,
  ];
};

const hostRule = (host: string): NameRule => (host.includes("*") ? wildcardSubdomain : dnsSubdomain);

function checkBackend(
  errors: FieldErrors,
  path: string,
  backend: IngressBackend,
  context: ValidationContext,
): void {
  const { resource, service } = backend;
  if (resource && service) errors.invalid(path, "", "cannot set both resource and service backends");
  else if (resource) checkReference(errors, `${path}.resource`, resource);
  else if (service) {
    errors.checkRequired(serviceNameRule(context), `${path}.service.name`, service.name);
    const { name, number } = service.port ?? {};
    if (name && number) errors.invalid(path, "", "cannot set both port name & port number");
    else if (name) errors.check(isPortName, `${path}.service.port.name`, name);
    else if (number) checkPort(errors, `${path}.service.port.number`, number);
    else errors.required(path, "port name or number is required");
  } else errors.invalid(path, "", "resource or service backend is required");
}

const badSequences = ["//", "/./", "/../", "%2f", "%2F"];
const badEnds = ["/..", "/."];

function checkPath(
  errors: FieldErrors,
  at: string,
  { path = "", pathType, backend }: HTTPIngressPath,
  context: ValidationContext,
): void {
  if (pathType === undefined || pathType === null) {
    errors.required(`${at}.pathType`, "pathType must be specified");
    return;
  }
  const absolute = path.startsWith("/");
  if (pathType === "Exact" || pathType === "Prefix") {
    if (!absolute) errors.invalid(`${at}.path`, path, "must be an absolute path");
    for (const text of badSequences)
      if (path.includes(text)) errors.invalid(`${at}.path`, path, `must not contain '${text}'`);
    for (const text of badEnds)
      if (path.endsWith(text)) errors.invalid(`${at}.path`, path, `cannot end with '${text}'`);
  } else if (pathType === "ImplementationSpecific") {
    if (path !== "" && !absolute) errors.invalid(`${at}.path`, path, "must be an absolute path");
  } else errors.notSupported(`${at}.pathType`, pathType, ["Exact", "ImplementationSpecific", "Prefix"]);
  checkBackend(errors, `${at}.backend`, backend ?? {}, context);
}

function checkRule(
  errors: FieldErrors,
  at: string,
  { host, http }: IngressRule,
  context: ValidationContext,
): void {
  if (host) {
    if (addressFamily(host) !== undefined)
      errors.invalid(`${at}.host`, host, "must be a DNS name, not an IP address");
    errors.check(hostRule(host), `${at}.host`, host);
  }
  if (!http) return;
  const paths = http.paths ?? [];
  if (paths.length === 0) errors.required(`${at}.http.paths`);
  paths.forEach((path, index) => {
    checkPath(errors, `${at}.http.paths[${index}]`, path, context);
  });
}

function checkSpec(errors: FieldErrors, { spec }: Ingress, context: ValidationContext): void {
  const rules = spec?.rules ?? [];
  if (rules.length === 0 && !spec?.defaultBackend) {
    errors.invalid(
      "spec",
      printedList(spec, "rules"),
      "either `defaultBackend` or `rules` must be specified",
    );
  }
  if (spec?.defaultBackend) checkBackend(errors, "spec.defaultBackend", spec.defaultBackend, context);
  rules.forEach((rule, index) => {
    checkRule(errors, `spec.rules[${index}]`, rule, context);
  });
  (spec?.tls ?? []).forEach(({ hosts, secretName }, index) => {
    const at = `spec.tls[${index}]`;
    (hosts ?? []).forEach((host, place) => {
      errors.check(hostRule(host), `${at}.hosts[${place}]`, host);
    });
    if (secretName) errors.check(dnsSubdomain, `${at}.secretName`, secretName);
  });
  const name = spec?.ingressClassName;
  if (name !== undefined && name !== null) errors.check(dnsSubdomain, "spec.ingressClassName", name);
}

const classAnnotation = "kubernetes.io/ingress.class";

export const ingressValidation = {
  create(errors: FieldErrors, object: Ingress, context: ValidationContext): void {
    checkObject(errors, object);
    checkSpec(errors, object, context);
    const annotation = object.metadata.annotations?.[classAnnotation];
    const name = object.spec?.ingressClassName;
    if (annotation !== undefined && name !== undefined && annotation !== name) {
      const detail = "must match `ingressClassName` when both are specified";
      errors.invalid(`annotations.${classAnnotation}`, annotation, detail);
    }
  },
  update(errors: FieldErrors, object: Ingress, old: Ingress, context: ValidationContext): void {
    checkObjectUpdate(errors, object, old);
    checkObject(errors, object);
    checkSpec(errors, object, context);
  },
  status(errors: FieldErrors, object: Ingress, old: Ingress, { features }: ValidationContext): void {
    checkObjectUpdate(errors, object, old);
    const before = (old.status?.loadBalancer?.ingress ?? []).map(({ ip = "" }) => ip);
    const options = { version: features.version, before };
    (object.status?.loadBalancer?.ingress ?? []).forEach(({ ip, hostname }, index) => {
      const at = `status.loadBalancer.ingress[${index}]`;
      if (ip) checkLegacyAddress(errors, `${at}.ip`, ip, options);
      checkHost(errors, `${at}.hostname`, hostname);
    });
  },
};
