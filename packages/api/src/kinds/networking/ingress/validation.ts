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

function checkBackend(errors: FieldErrors, backend: IngressBackend, context: ValidationContext): void {
  const { resource, service } = backend;
  if (resource && service) errors.invalid("", "cannot set both resource and service backends");
  else if (resource) checkReference(errors.at("resource"), resource);
  else if (service) {
    errors.at("service.name").checkRequired(serviceNameRule(context), service.name);
    const { name, number } = service.port ?? {};
    if (name && number) errors.invalid("", "cannot set both port name & port number");
    else if (name) errors.at("service.port.name").check(isPortName, name);
    else if (number) checkPort(errors.at("service.port.number"), number);
    else errors.required("port name or number is required");
  } else errors.invalid("", "resource or service backend is required");
}

const badSequences = ["//", "/./", "/../", "%2f", "%2F"];
const badEnds = ["/..", "/."];

function checkPath(
  errors: FieldErrors,
  { path = "", pathType, backend }: HTTPIngressPath,
  context: ValidationContext,
): void {
  if (pathType === undefined || pathType === null) {
    errors.at("pathType").required("pathType must be specified");
    return;
  }
  const absolute = path.startsWith("/");
  if (pathType === "Exact" || pathType === "Prefix") {
    if (!absolute) errors.at("path").invalid(path, "must be an absolute path");
    for (const text of badSequences)
      if (path.includes(text)) errors.at("path").invalid(path, `must not contain '${text}'`);
    for (const text of badEnds)
      if (path.endsWith(text)) errors.at("path").invalid(path, `cannot end with '${text}'`);
  } else if (pathType === "ImplementationSpecific") {
    if (path !== "" && !absolute) errors.at("path").invalid(path, "must be an absolute path");
  } else errors.at("pathType").notSupported(pathType, ["Exact", "ImplementationSpecific", "Prefix"]);
  checkBackend(errors.at("backend"), backend ?? {}, context);
}

function checkRule(errors: FieldErrors, { host, http }: IngressRule, context: ValidationContext): void {
  if (host) {
    if (addressFamily(host) !== undefined)
      errors.at("host").invalid(host, "must be a DNS name, not an IP address");
    errors.at("host").check(hostRule(host), host);
  }
  if (!http) return;
  const paths = http.paths ?? [];
  if (paths.length === 0) errors.at("http.paths").required();
  paths.forEach((path, index) => {
    checkPath(errors.at("http.paths").index(index), path, context);
  });
}

function checkSpec(errors: FieldErrors, { spec }: Ingress, context: ValidationContext): void {
  const rules = spec?.rules ?? [];
  if (rules.length === 0 && !spec?.defaultBackend) {
    errors
      .at("spec")
      .invalid(printedList(errors, spec, "rules"), "either `defaultBackend` or `rules` must be specified");
  }
  if (spec?.defaultBackend) checkBackend(errors.at("spec.defaultBackend"), spec.defaultBackend, context);
  rules.forEach((rule, index) => {
    checkRule(errors.at("spec.rules").index(index), rule, context);
  });
  (spec?.tls ?? []).forEach(({ hosts, secretName }, index) => {
    const here = errors.at("spec.tls").index(index);
    (hosts ?? []).forEach((host, place) => {
      here.at("hosts").index(place).check(hostRule(host), host);
    });
    if (secretName) here.at("secretName").check(dnsSubdomain, secretName);
  });
  const name = spec?.ingressClassName;
  if (name !== undefined && name !== null) errors.at("spec.ingressClassName").check(dnsSubdomain, name);
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
      errors.at("annotations").at(classAnnotation).invalid(annotation, detail);
    }
  },
  update(errors: FieldErrors, object: Ingress, old: Ingress, context: ValidationContext): void {
    checkObjectUpdate(errors, object, old);
    checkObject(errors, object);
    checkSpec(errors, object, context);
  },
  status(errors: FieldErrors, object: Ingress, old: Ingress, { features }: ValidationContext): void {
    checkObjectUpdate(errors, object, old);
    const before = new Set((old.status?.loadBalancer?.ingress ?? []).map(({ ip = "" }) => ip));
    const options = { version: features.version, before };
    (object.status?.loadBalancer?.ingress ?? []).forEach(({ ip, hostname }, index) => {
      const here = errors.at("status.loadBalancer.ingress").index(index);
      if (ip) checkLegacyAddress(here.at("ip"), ip, options);
      checkHost(here.at("hostname"), hostname);
    });
  },
};
