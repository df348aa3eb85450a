import type { FieldErrors } from "../../../checks/field.ts";
import { checkMetadata, checkMetadataUpdate } from "../../../checks/metadata.ts";
import type { CustomResourceDefinitionSpec } from "../../../generated/apiextensions/v1.ts";
import type { KubeObject } from "../../../objects/object.ts";
import { dnsSubdomain } from "../../../values/names.ts";

type Definition = KubeObject & { readonly spec?: CustomResourceDefinitionSpec };

/**
 * The metadata of definitions of custom resources: their name is that of what they define. The rest is
 * validated where expressions can be compiled: by the API server.
 */
export const customResourceDefinitionValidation = {
  create(errors: FieldErrors, { metadata, spec }: Definition): void {
    const required = `${spec?.names?.plural ?? ""}.${spec?.group ?? ""}`;
    const rule = (name: string): string[] => [
      ...dnsSubdomain(name),
      ...(name === required ? [] : [`must be spec.names.plural+"."+spec.group`]),
    ];
    checkMetadata(errors.at("metadata"), metadata, rule, false);
  },
  update(errors: FieldErrors, { metadata }: Definition, old: Definition): void {
    checkMetadataUpdate(errors.at("metadata"), metadata, old.metadata);
  },
  status(errors: FieldErrors, { metadata }: Definition, old: Definition): void {
    checkMetadataUpdate(errors.at("metadata"), metadata, old.metadata);
  },
};
