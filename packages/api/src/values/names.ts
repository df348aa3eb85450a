/**
 * Rules of names, labels and other short texts (apimachinery validation). Each function returns what is
 * wrong, in the API server's words; an empty list means that the value is legal.
 */

export type NameRule = (value: string) => string[];

const label = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const subdomain = `${label}(\\.${label})*`;
const label1035 = "[a-z]([-a-z0-9]*[a-z0-9])?";
const labelKey = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
const labelValue = `(${labelKey})?`;
const cIdentifier = "[A-Za-z_][A-Za-z0-9_]*";
const configKey = "[-._a-zA-Z0-9]+";
const percent = "[0-9]+%";

const whole = (pattern: string): RegExp => new RegExp(`^${pattern}$`);
const labelForm = whole(label);
const subdomainForm = whole(subdomain);
const label1035Form = whole(label1035);
const labelKeyForm = whole(labelKey);
const labelValueForm = whole(labelValue);
const cIdentifierForm = whole(cIdentifier);
const configKeyForm = whole(configKey);
const percentForm = whole(percent);

/** Length in bytes of UTF-8, which the API's limits count. */
export function byteLength(text: string): number {
  let bytes = text.length;
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    if (unit < 0x80) continue;
    if (unit < 0x800) bytes += 1;
    else if (unit >= 0xd800 && unit <= 0xdbff) {
      bytes += 2;
      index++;
    } else bytes += 2;
  }
  return bytes;
}

function examples(rule: string, pattern: string, ...names: string[]): string {
  return `${rule} (e.g. ${names.map((name) => `'${name}', `).join(" or ")}regex used for validation is '${pattern}')`;
}

function tooLong(value: string, limit: number, unit: "bytes" | "characters" = "characters"): string[] {
  return byteLength(value) > limit ? [`must be no more than ${limit} ${unit}`] : [];
}

const alphanumeric = "must consist of lower case alphanumeric characters";
const ends = "must start and end with an alphanumeric character";

/** DNS label, RFC 1123: at most 63 bytes. */
export const dnsLabel: NameRule = (value) => {
  const problems = tooLong(value, 63);
  if (labelForm.test(value)) return problems;
  if (subdomainForm.test(value)) return [...problems, "must not contain dots"];
  const rule = `a lowercase RFC 1123 label ${alphanumeric} or '-', and ${ends}`;
  return [...problems, examples(rule, label, "my-name", "123-abc")];
};

/** DNS subdomain, RFC 1123: at most 253 bytes. */
export const dnsSubdomain: NameRule = (value) => checkSubdomain(value, "characters");

/** As `dnsSubdomain`, in the words of declarative validation (k8s-long-name). */
export const longName: NameRule = (value) => checkSubdomain(value, "bytes");

function checkSubdomain(value: string, unit: "bytes" | "characters"): string[] {
  const problems = tooLong(value, 253, unit);
  if (subdomainForm.test(value)) return problems;
  const rule = `a lowercase RFC 1123 subdomain ${alphanumeric}, '-' or '.', and ${ends}`;
  return [...problems, examples(rule, subdomain, "example.com")];
}

/** As `dnsSubdomain`, in either case (k8s-long-name-caseless of declarative validation). */
export const dnsSubdomainCaseless: NameRule = (value) => {
  const problems = tooLong(value, 253, "bytes");
  if (subdomainForm.test(value.toLowerCase())) return problems;
  const rule = `an RFC 1123 subdomain must consist of alphanumeric characters, '-' or '.', and ${ends}`;
  return [...problems, examples(rule, subdomain, "Example.com")];
};

const labelWithUnderscores = "_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?";
const subdomainWithUnderscores = `${labelWithUnderscores}(\\.${labelWithUnderscores})*`;
const subdomainWithUnderscoresForm = whole(subdomainWithUnderscores);

/** DNS subdomain whose labels may have underscores, as in the search lists of resolvers. */
export const dnsSubdomainWithUnderscores: NameRule = (value) => {
  const problems = tooLong(value, 253);
  if (subdomainWithUnderscoresForm.test(value)) return problems;
  const rule = `a lowercase RFC 1123 subdomain ${alphanumeric}, '_', '-' or '.', and ${ends}`;
  return [...problems, examples(rule, subdomainWithUnderscores, "example.com")];
};

/** DNS label, RFC 1035: starts with a letter. Names of services. */
export const dns1035Label: NameRule = (value) => {
  const problems = tooLong(value, 63);
  if (label1035Form.test(value)) return problems;
  const rule = `a DNS-1035 label ${alphanumeric} or '-', start with an alphabetic character, and end with an alphanumeric character`;
  return [...problems, examples(rule, label1035, "my-name", "abc-123")];
};

/** Key of a label, an annotation or a taint: a name with an optional DNS subdomain and a slash before it. */
export const qualifiedName: NameRule = (value) => {
  // Nearly all are plain, and objects have many.
  if (value.length <= 63 && labelKeyForm.test(value)) return [];
  if (isPlainPrefixed(value)) return [];
  const rule = `must consist of alphanumeric characters, '-', '_' or '.', and ${ends}`;
  const sample = ["MyName", "my.name", "123-abc"];
  const parts = value.split("/");
  const problems: string[] = [];
  let name = parts[0] ?? "";
  if (parts.length > 2) {
    const text = examples(`a valid label key ${rule}`, labelKey, ...sample);
    return [`${text} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`];
  }
  if (parts.length === 2) {
    const prefix = name;
    name = parts[1] ?? "";
    if (prefix === "") problems.push("prefix part must be non-empty");
    else for (const problem of dnsSubdomain(prefix)) problems.push(`prefix part ${problem}`);
  }
  if (name === "") problems.push("name part must be non-empty");
  else for (const problem of tooLong(name, 63, "bytes")) problems.push(`name part ${problem}`);
  if (!labelKeyForm.test(name)) problems.push(`name part ${examples(rule, labelKey, ...sample)}`);
  return problems;
};

/** True for a prefixed key; a text that matches these forms has as many bytes as characters. */
function isPlainPrefixed(key: string): boolean {
  const slash = key.indexOf("/");
  if (slash < 1 || slash > 253 || key.length - slash - 1 > 63) return false;
  return labelKeyForm.test(key.slice(slash + 1)) && subdomainForm.test(key.slice(0, slash));
}

/** Value of a label: may be empty, at most 63 bytes. */
export const isLabelValue: NameRule = (value) => {
  if (value.length <= 63 && labelValueForm.test(value)) return [];
  const problems = tooLong(value, 63, "bytes");
  if (labelValueForm.test(value)) return problems;
  const rule = `a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and ${ends}`;
  return [...problems, examples(rule, labelValue, "MyValue", "my_value", "12345")];
};

/** C identifier: the id part of an attribute's name. */
export const isCIdentifier: NameRule = (value) => {
  if (cIdentifierForm.test(value)) return [];
  const rule =
    "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric characters or '_'";
  return [examples(rule, cIdentifier, "my_name", "MY_NAME", "MyName")];
};

function directoryProblems(value: string): string[] {
  if (value === ".") return ["must not be '.'"];
  if (value === "..") return ["must not be '..'"];
  return value.startsWith("..") ? ["must not start with '..'"] : [];
}

const plainConfigKey = /^[-_a-zA-Z0-9]{1,253}$/;

/** Key of a ConfigMap or Secret. */
export const isConfigMapKey: NameRule = (value) => {
  // Most keys by far, of which an object may have a hundred thousand.
  if (plainConfigKey.test(value)) return [];
  const problems = tooLong(value, 253);
  if (!configKeyForm.test(value)) {
    const rule = "a valid config key must consist of alphanumeric characters, '-', '_' or '.'";
    problems.push(examples(rule, configKey, "key.name", "KEY_NAME", "key-name"));
  }
  return [...problems, ...directoryProblems(value)];
};

/** Name of an environment variable: printable ASCII without `=` (RelaxedEnvironmentVariableValidation). */
export const isEnvironmentName: NameRule = (value) => {
  if (value === "") return ["environment variable name must be non-empty"];
  if (/^[ -<>-~]*$/.test(value)) return [];
  return ["a valid environment variable name must consist only of printable ASCII characters other than '='"];
};

/** Name of a port (IANA service name): at most 15 of `a-z0-9-`, with a letter. */
export const isPortName: NameRule = (value) => {
  const problems = tooLong(value, 15);
  if (!/^[-a-z0-9]+$/.test(value)) {
    problems.push("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)");
  }
  if (!/[a-z]/.test(value)) problems.push("must contain at least one letter (a-z)");
  if (value.includes("--")) problems.push("must not contain consecutive hyphens");
  if (value.startsWith("-") || value.endsWith("-")) problems.push("must not begin or end with a hyphen");
  return problems;
};

/** Percentage: `25%`. */
export const isPercent: NameRule = (value) => {
  if (percentForm.test(value)) return [];
  const rule = "a valid percent string must be a numeric string followed by an ending '%'";
  return [examples(rule, percent, "1%", "93%")];
};

/** A name that may stand in a path: RBAC roles and bindings. */
export const pathSegment: NameRule = (value) => {
  if (value === "." || value === "..") return [`may not be '${value}'`];
  return ["/", "%"].filter((text) => value.includes(text)).map((text) => `may not contain '${text}'`);
};

/** Whole number within bounds. */
export function rangeProblem(value: number | bigint, low: number, high: number): string[] {
  return value >= low && value <= high ? [] : [`must be between ${low} and ${high}, inclusive`];
}

/** The characters of generated names: no vowels, no characters that look like another (apimachinery rand). */
export const nameAlphabet = "bcdfghjklmnpqrstvwxz2456789";

/**
 * A name made of `generateName` and five characters; the first part is cut where the name would be too long.
 */
export function generatedName(base: string, suffix: string): string {
  return `${base.slice(0, 58)}${suffix}`;
}

/** An extended resource: `domain/name`, of a domain that is not Kubernetes' own, and fit for a quota. */
export function isExtendedResourceName(name: string): boolean {
  if (!name.includes("/") || name.includes("kubernetes.io/") || name.startsWith("requests.")) return false;
  return qualifiedName(`requests.${name}`).length === 0;
}
