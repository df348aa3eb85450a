/** Windows: users, credentials and containers that are processes of the host. */

import type { FieldErrors } from "../../../checks/field.ts";
import type { Container, PodSpec, WindowsSecurityContextOptions } from "../../../generated/core/v1.ts";
import { byteLength, dnsSubdomain } from "../../../values/names.ts";

const credentialLimit = 64 * 1024;
const domainLimit = 256;
const userLimit = 104;
const control = /\p{Cc}/u;
const netBiosName = /^[^\\/:*?"<>|.][^\\/:*?"<>|]{0,14}$/;
const label = "[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?";
const dnsDomain = new RegExp(`^${label}(?:\\.${label})*$`);

/** Errors of the name of a user, `DOMAIN\user` or `user`. */
function userProblems(name: string): string[] {
  if (name === "") return ["runAsUserName cannot be an empty string"];
  if (control.test(name)) return ["runAsUserName cannot contain control characters"];
  const parts = name.split("\\");
  if (parts.length > 2) return ["runAsUserName cannot contain more than one backslash"];
  const [domain, user] = parts.length === 2 ? [parts[0]!, parts[1]!] : [undefined, name];
  const problems: string[] = [];
  if (byteLength(domain ?? "") >= domainLimit)
    problems.push(`runAsUserName's Domain length must be under ${domainLimit} characters`);
  if (domain !== undefined && !netBiosName.test(domain) && !dnsDomain.test(domain))
    problems.push("runAsUserName's Domain doesn't match the NetBios nor the DNS format");
  if (user === "") problems.push("runAsUserName's User cannot be empty");
  else if (byteLength(user) > userLimit)
    problems.push(`runAsUserName's User length must not be longer than ${userLimit} characters`);
  if (/^[. ]+$/.test(user)) problems.push("runAsUserName's User cannot contain only periods or spaces");
  if (/["/\\:;|=,+*?<>@[\]]/.test(user))
    problems.push("runAsUserName's User cannot contain the following characters: \"/\\:;|=,+*?<>@[]");
  return problems;
}

export function checkWindowsOptions(
  errors: FieldErrors,
  options: WindowsSecurityContextOptions | undefined,
): void {
  if (!options) return;
  const { gmsaCredentialSpecName: name, gmsaCredentialSpec: credential, runAsUserName: user } = options;
  if (name !== undefined && name !== null) errors.at("gmsaCredentialSpecName").check(dnsSubdomain, name);
  if (credential === "") {
    errors.at("gmsaCredentialSpec").invalid("", "gmsaCredentialSpec cannot be an empty string");
  } else if (byteLength(credential ?? "") > credentialLimit) {
    const detail = `gmsaCredentialSpec size must be under ${credentialLimit / 1024} KiB`;
    errors.at("gmsaCredentialSpec").invalid(credential, detail);
  }
  if (user !== undefined && user !== null) errors.at("runAsUserName").check(userProblems, user);
}

/** Either all containers of a pod are processes of the host (KEP-1981), in its network, or none is. */
export function checkHostProcess(errors: FieldErrors, spec: PodSpec): void {
  const whole = spec.securityContext?.windowsOptions?.hostProcess ?? undefined;
  let count = 0;
  let processes = 0;
  for (const name of ["initContainers", "containers", "ephemeralContainers"] as const) {
    ((spec[name] ?? []) as readonly Container[]).forEach(({ securityContext }, index) => {
      const own = securityContext?.windowsOptions?.hostProcess ?? undefined;
      count++;
      if (own ?? whole) processes++;
      if (own === undefined || whole === undefined || own === whole) return;
      const detail = `pod hostProcess value must be identical if both are specified, was ${whole}`;
      errors.at(name).index(index).at("securityContext.windowsOptions.hostProcess").invalid(own, detail);
    });
  }
  if (processes === 0) return;
  if (processes !== count) {
    const detail =
      "If pod contains any hostProcess containers then all containers must be HostProcess containers";
    errors.invalid("", detail);
  }
  if (!spec.hostNetwork) {
    const detail = "hostNetwork must be true if pod contains any hostProcess containers";
    errors.at("hostNetwork").invalid(false, detail);
  }
}
