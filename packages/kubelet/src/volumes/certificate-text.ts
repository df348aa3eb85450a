import { pemBlocks, pemContent } from "@dray/api/pem";

/** Certificates in a PEM text, without headers and text between them. */
export function certificatesIn(text: string): string[] {
  return [...pemBlocks(text)].flatMap((block) => {
    const content = pemContent(block);
    if (content === undefined) return [];
    // Re-encoded: two texts of the same bytes may differ in unused bits.
    const lines =
      Buffer.from(content, "base64")
        .toString("base64")
        .match(/.{1,64}/g) ?? [];
    return `-----BEGIN CERTIFICATE-----\n${lines.map((line) => `${line}\n`).join("")}-----END CERTIFICATE-----\n`;
  });
}
