import { qualifiedName } from "@dray/api";
import { isExtendedResourceName } from "@dray/api/validation";
import type { Fields } from "./fields.ts";
import type { ExtenderConfiguration, ExtenderTLS, TLSPart } from "./types.ts";

export function readExtenders(fields: Fields): readonly ExtenderConfiguration[] {
  const { errors } = fields;
  const managed = new Set<string>();
  const extenders = (fields.objects("extenders") ?? []).map((each) => readExtender(each, managed));
  const binders = extenders.filter(({ bindVerb }) => bindVerb).length;
  if (binders > 1)
    errors
      .at("extenders")
      .invalid(`found ${binders} extenders implementing bind`, "only one extender can implement bind");
  return extenders;
}

function readExtender(fields: Fields, managed: Set<string>): ExtenderConfiguration {
  const { errors } = fields;
  const urlPrefix = fields.string("urlPrefix") ?? "";
  const verbs = Object.fromEntries(
    (["filterVerb", "preemptVerb", "prioritizeVerb", "bindVerb"] as const).flatMap((name) => {
      const verb = fields.string(name);
      return verb ? [[name, verb]] : [];
    }),
  );
  const weight = fields.integer("weight") ?? 0;
  if ("prioritizeVerb" in verbs && weight <= 0)
    errors.at("weight").invalid(weight, "must have a positive weight applied to it");
  if (!URL.canParse(urlPrefix))
    errors.at("urlPrefix").invalid(urlPrefix, "must be a URL such as http://127.0.0.1:8080/scheduler");
  const managedResources = (fields.objects("managedResources") ?? []).map((each) => {
    const name = each.string("name") ?? "";
    const ignoredByScheduler = each.boolean("ignoredByScheduler") ?? false;
    each.end();
    const errors = each.errors.at("name");
    const problems = qualifiedName(name);
    for (const problem of problems) errors.invalid(name, problem);
    if (problems.length === 0 && !isExtendedResourceName(name))
      errors.invalid(name, "is an invalid extended resource name");
    if (managed.has(name)) errors.invalid(name, "duplicate extender managed resource name");
    managed.add(name);
    return { name, ignoredByScheduler };
  });
  const tls = fields.object("tlsConfig");
  const extender = {
    urlPrefix,
    ...verbs,
    weight,
    enableHTTPS: fields.boolean("enableHTTPS") ?? false,
    ...(tls && { tls: readTLS(tls) }),
    httpTimeout: fields.duration("httpTimeout") || 5_000,
    nodeCacheCapable: fields.boolean("nodeCacheCapable") ?? false,
    managedResources,
    ignorable: fields.boolean("ignorable") ?? false,
  };
  fields.end();
  return extender;
}

function readTLS(fields: Fields): ExtenderTLS {
  const insecure = fields.boolean("insecure") ?? false;
  const serverName = fields.string("serverName");
  const part = (name: "cert" | "key" | "ca"): TLSPart | undefined => {
    const [file, data] = [fields.string(`${name}File`), fields.string(`${name}Data`)];
    if (data) return { pem: Buffer.from(data, "base64").toString() };
    return file ? { file } : undefined;
  };
  const [cert, key, ca] = [part("cert"), part("key"), part("ca")];
  fields.end();
  return {
    insecure,
    ...(serverName && { serverName }),
    ...(cert && { cert }),
    ...(key && { key }),
    ...(ca && { ca }),
  };
}
