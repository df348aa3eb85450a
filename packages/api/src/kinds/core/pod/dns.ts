import { checkLegacyAddress } from "../../../checks/address.ts";
import type { FieldErrors } from "../../../checks/field.ts";
import type { KubernetesVersion } from "../../../features/features.ts";
import type { PodSpec } from "../../../generated/core/v1.ts";
import { dnsSubdomain, dnsSubdomainWithUnderscores } from "../../../values/names.ts";

const maxServers = 3;
const maxPaths = 32;
const maxCharacters = 2048;

export function checkDns(errors: FieldErrors, path: string, spec: PodSpec, version: KubernetesVersion): void {
  const config = spec.dnsConfig;
  const servers = config?.nameservers ?? [];
  if (spec.dnsPolicy === "None") {
    if (!config) {
      errors.required(path, "must provide `dnsConfig` when `dnsPolicy` is None");
      return;
    }
    if (servers.length === 0) {
      errors.required(
        `${path}.nameservers`,
        "must provide at least one DNS nameserver when `dnsPolicy` is None",
      );
      return;
    }
  }
  if (servers.length > maxServers) {
    errors.invalid(`${path}.nameservers`, servers, `must not have more than ${maxServers} nameservers`);
  }
  servers.forEach((server, index) => {
    checkLegacyAddress(errors, `${path}.nameservers[${index}]`, server, { version });
  });
  const searches = config?.searches ?? [];
  if (searches.length > maxPaths) {
    errors.invalid(`${path}.searches`, searches, `must not have more than ${maxPaths} search paths`);
  }
  if (searches.join(" ").length > maxCharacters) {
    const detail = `must not have more than ${maxCharacters} characters (including spaces) in the search list`;
    errors.invalid(`${path}.searches`, searches, detail);
  }
  searches.forEach((search, index) => {
    if (search === ".") return;
    errors.check(dnsSubdomainWithUnderscores, `${path}.searches[${index}]`, search.replace(/\.$/, ""));
  });
  (config?.options ?? []).forEach(({ name }, index) => {
    if (!name) errors.required(`${path}.options[${index}]`, "must not be empty");
  });
}

export function checkHostAliases(
  errors: FieldErrors,
  path: string,
  spec: PodSpec,
  version: KubernetesVersion,
): void {
  (spec.hostAliases ?? []).forEach(({ ip = "", hostnames }, index) => {
    checkLegacyAddress(errors, `${path}[${index}].ip`, ip, { version });
    (hostnames ?? []).forEach((name, place) => {
      errors.check(dnsSubdomain, `${path}[${index}].hostnames[${place}]`, name);
    });
  });
}
