import { asTyped, checkImmutable, type FieldErrors } from "../../../checks/field.ts";
import { checkObject, checkObjectUpdate } from "../../../checks/objects.ts";
import type { Secret } from "../../../generated/core/v1.ts";
import { JSONError, parseJSON } from "../../../json/parser.ts";
import { isConfigMapKey } from "../../../values/names.ts";
import { checkFrozen, dataLimit, decodedLength } from "../data.ts";

/** Checks the data that a secret of a built-in type requires. */
function checkSecretType(errors: FieldErrors, type: string, data: NonNullable<Secret["data"]>): void {
  const has = (name: string): boolean => Object.hasOwn(data, name);
  const need = (...names: string[]): void => {
    for (const name of names) if (!has(name)) errors.at("data").key(name).required();
  };
  switch (type) {
    case "kubernetes.io/tls":
      need("tls.crt", "tls.key");
      break;
    case "kubernetes.io/dockercfg":
      checkSecretJson(errors, data, ".dockercfg");
      break;
    case "kubernetes.io/dockerconfigjson":
      checkSecretJson(errors, data, ".dockerconfigjson");
      break;
    case "kubernetes.io/basic-auth":
      if (!has("username") && !has("password")) need("username", "password");
      break;
    case "kubernetes.io/ssh-auth":
      if (!data["ssh-privatekey"]) errors.at("data").key("ssh-privatekey").required();
      break;
  }
}

/** Credentials for registries are a JSON object; the message does not show them. */
function checkSecretJson(errors: FieldErrors, data: NonNullable<Secret["data"]>, name: string): void {
  const here = errors.at("data").key(name);
  if (!Object.hasOwn(data, name)) {
    here.required();
    return;
  }
  const problem = objectProblem(Buffer.from(data[name] ?? "", "base64").toString());
  if (problem !== undefined) here.invalid("<secret contents redacted>", problem);
}

/** Why Go does not read a text as a JSON object; undefined if it does. */
function objectProblem(text: string): string | undefined {
  let value: unknown;
  try {
    value = parseJSON(text);
  } catch (error) {
    if (error instanceof JSONError) return error.message;
    throw error;
  }
  if (typeof value === "object" && !Array.isArray(value)) return undefined;
  const sort = Array.isArray(value) ? "array" : typeof value === "boolean" ? "bool" : typeof value;
  return `json: cannot unmarshal ${sort === "bigint" ? "number" : sort} into Go value of type map[string]interface {}`;
}

function checkSecretData(errors: FieldErrors, { data, type }: Secret): void {
  let size = 0;
  for (const key in data) {
    if (!errors.full) errors.at("data").key(key).check(isConfigMapKey, key);
    size += decodedLength(data[key]!);
  }
  if (size > dataLimit) errors.at("data").tooLong(dataLimit);
  checkSecretType(errors, type ?? "", data ?? {});
}

const accountAnnotation = "kubernetes.io/service-account.name";

export const secretValidation = {
  create(errors: FieldErrors, object: Secret): void {
    checkObject(errors, object);
    if (
      object.type === "kubernetes.io/service-account-token" &&
      !object.metadata.annotations?.[accountAnnotation]
    ) {
      errors.at("metadata.annotations").key(accountAnnotation).required();
    }
    checkSecretData(errors, object);
  },
  update(errors: FieldErrors, object: Secret, old: Secret): void {
    checkObjectUpdate(errors, object, old);
    checkImmutable(errors.at("type"), object.type, old.type, () => asTyped(object.type));
    checkFrozen(errors, object, old);
    this.create(errors, object);
  },
};
