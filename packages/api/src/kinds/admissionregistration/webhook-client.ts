import type { FieldErrors } from "../../checks/field.ts";
import type { ServiceReference } from "../../generated/admissionregistration/v1.ts";
import { quoted } from "../../text/quoted.ts";
import { dnsSubdomain, rangeProblem } from "../../values/names.ts";

const urlForm =
  /^(?:(?<scheme>[a-zA-Z][a-zA-Z0-9+.-]*):)?(?:\/\/(?<authority>[^/?#]*))?[^?#]*(?:\?(?<query>[^#]*))?(?:#(?<fragment>.*))?$/s;

/** Validates the URL of a webhook: `https://host[/path]` and nothing else. */
export function checkUrl(errors: FieldErrors, url: string): void {
  const form = "; desired format: https://host[/path]";
  const unreadable = urlProblem(url);
  if (unreadable !== undefined) {
    errors.required(`url must be a valid URL: parse ${quoted(url)}: ${unreadable}${form}`);
    return;
  }
  const { scheme = "", authority = "", query, fragment } = urlForm.exec(url)?.groups ?? {};
  const at = authority.lastIndexOf("@");
  const host = authority.slice(at + 1);
  if (scheme.toLowerCase() !== "https")
    errors.invalid(scheme.toLowerCase(), `'https' is the only allowed URL scheme${form}`);
  if (host === "") errors.invalid(host, `host must be specified${form}`);
  if (at >= 0) errors.invalid(authority.slice(0, at), "user information is not permitted in the URL");
  if (fragment) errors.invalid(fragment, "fragments are not permitted in the URL");
  if (query) errors.invalid(query, "query parameters are not permitted in the URL");
}

/** Returns the error of Go's url.Parse; undefined for a valid URL. */
function urlProblem(url: string): string | undefined {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: Go's url.Parse rejects them.
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
export function checkService(errors: FieldErrors, { name, namespace, path, port }: ServiceReference): void {
  if (!name) errors.at("name").required();
  if (!namespace) errors.at("namespace").required();
  const wrong = rangeProblem(port ?? 0, 1, 65535);
  if (wrong.length > 0) errors.at("port").invalid(port ?? 0, `port is not valid: ${wrong.join(", ")}`);
  if (path === undefined || path === "" || path === "/") return;
  const invalid = (detail: string): void => errors.at("path").invalid(path, detail);
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
