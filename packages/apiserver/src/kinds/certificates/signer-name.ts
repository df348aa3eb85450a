import { dnsLabel, dnsSubdomain, type FieldError, quoted } from "@dray/api";

/** Upstream: pkg/apis/core/validation/validation.go, ValidateSignerName. */
export function signerNameProblems(path: string, name: string): FieldError[] {
  const invalid = (value: string, detail: string): FieldError => ({
    type: "Invalid",
    path,
    value: quoted(value),
    detail,
  });
  if (name === "") return [{ type: "Required", path, detail: "" }];
  const [domain = "", signer, ...rest] = name.split("/");
  if (signer === undefined || rest.length > 0) {
    const detail = "must be a fully qualified domain and path of the form 'example.com/signer-name'";
    return [invalid(name, detail)];
  }
  const errors: FieldError[] = [];
  const labels = domain.split(".");
  const badLabel = labels.find((label) => dnsLabel(label).length > 0);
  if (badLabel !== undefined) {
    for (const problem of dnsLabel(badLabel))
      errors.push(invalid(domain, `validating label ${quoted(badLabel)}: ${problem}`));
  }
  if (labels.length < 2)
    errors.push(invalid(domain, "should be a domain with at least two segments separated by dots"));
  const badPart = signer.split(".").find((part) => dnsSubdomain(part).length > 0);
  if (badPart !== undefined) {
    for (const problem of dnsSubdomain(badPart))
      errors.push(invalid(signer, `validating label ${quoted(badPart)}: ${problem}`));
  }
  return errors;
}
