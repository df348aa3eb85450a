import { pemBlocks, pemContent } from "@dray/api/pem";

/** The blocks of a text in PEM as certificates, without headers and what stands between them. */
export function certificatesIn(text: string): string[] {
  return [...pemBlocks(text)].flatMap((block) => {
    const content = pemContent(block);
    if (content === undefined) return [];
    // Encoded anew: two texts of the same bytes may differ in bits that do not count.
    const lines =
      Buffer.from(content, "base64")
        .toString("base64")
        .match(/.{1,64}/g) ?? [];
    return `-----BEGIN CERTIFICATE-----\n${lines.map((line) => `${line}\n`).join("")}-----END CERTIFICATE-----\n`;
  });
}
