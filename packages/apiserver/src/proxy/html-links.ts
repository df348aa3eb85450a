import urlAttributes from "./url-attributes.json" with { type: "json" };

/** Tags whose content is raw text up to their end tag: tags inside of it are not parsed. */
const rawTags = new Set([
  "iframe",
  "noembed",
  "noframes",
  "noscript",
  "plaintext",
  "script",
  "style",
  "textarea",
  "title",
  "xmp",
]);

const tagStart = /<([a-z][^ \n\r\t\f/>]*)/iy;
const tagEnd = /[ \n\r\t\f/]*>/y;
/** Name and value. An unquoted one is complete only with the character behind it. */
const attribute =
  /[ \n\r\t\f/]*([^ \n\r\t\f/>][^ \n\r\t\f/>=]*(?=[ \n\r\t\f/>=]))(?:([ \n\r\t\f]*=[ \n\r\t\f]*)("[^"]*"|'[^']*'|[^ \n\r\t\f>"'][^ \n\r\t\f>]*(?=[ \n\r\t\f>])|(?=>))|(?![ \n\r\t\f]*=))/y;

/** Maximum length of a tag in which links are rewritten, in characters. */
const maxTagLength = 64 * 1024;
/** Maximum length of an incomplete end marker, in characters. */
const maxEndLength = 16;

interface Piece {
  readonly text: string;
  /** Start of the next piece. */
  readonly end: number;
}

/**
 * Rewrites the links of an HTML document that comes in chunks. Each character is a byte (Latin-1), so that
 * documents in any encoding keep their bytes. Tags without a rewritten link are passed through unchanged;
 * upstream writes every tag anew.
 *
 * Upstream: k8s.io/apimachinery, pkg/util/proxy/transport.go, rewriteHTML
 */
export class HtmlLinks {
  readonly #rewrite: (link: string) => string;
  #pending = "";
  /** While inside of a comment, a raw text or another part without links: its end. */
  #until: RegExp | undefined;

  /** `rewrite` returns the replacement of the URL of an attribute. */
  constructor(rewrite: (link: string) => string) {
    this.#rewrite = rewrite;
  }

  /** Adds the next chunk. Returns the complete part of the output. */
  write(chunk: string): string {
    this.#pending += chunk;
    return this.#take(false);
  }

  /** Returns the rest of the document. */
  end(): string {
    return this.#take(true);
  }

  #take(last: boolean): string {
    const html = this.#pending;
    const pieces: string[] = [];
    let at = 0;
    while (at < html.length) {
      const until = this.#until;
      const piece = until === undefined ? this.#next(html, at, last) : this.#rest(until, html, at, last);
      if (piece === undefined) break;
      pieces.push(piece.text);
      at = piece.end;
    }
    this.#pending = html.slice(at);
    return pieces.join("");
  }

  /** Returns the next piece of a part without links, which ends with `until`. */
  #rest(until: RegExp, html: string, at: number, last: boolean): Piece | undefined {
    until.lastIndex = at;
    const found = until.exec(html);
    if (found !== null) {
      this.#until = undefined;
      return piece(html, at, until.lastIndex);
    }
    const end = last ? html.length : html.length - maxEndLength;
    return end > at ? piece(html, at, end) : undefined;
  }

  /** Returns the text up to the next tag, or a tag. Undefined if it is incomplete. */
  #next(html: string, at: number, last: boolean): Piece | undefined {
    const mark = html.indexOf("<", at);
    if (mark !== at) return piece(html, at, mark < 0 ? html.length : mark);
    if (!last && html.length - at < 4) return undefined;
    tagStart.lastIndex = at;
    const start = tagStart.exec(html);
    if (start !== null) return this.#tag(start, html, last);
    if (html.startsWith("<!--", at)) {
      // The two dashes of `<!-->` both begin and end a comment.
      this.#until = /--!?>/g;
      return piece(html, at, at + 2);
    }
    if (/[!?/]/.test(html[at + 1] ?? "")) this.#until = />/g;
    return piece(html, at, at + 1);
  }

  #tag(start: RegExpExecArray, html: string, last: boolean): Piece | undefined {
    const at = start.index;
    let [text, name = ""] = start;
    name = name.toLowerCase();
    let end = at + text.length;
    for (;;) {
      tagEnd.lastIndex = end;
      if (tagEnd.test(html)) break;
      attribute.lastIndex = end;
      const found = attribute.exec(html);
      if (found === null) {
        const isText = last || html.length - at > maxTagLength;
        return isText ? piece(html, at, at + 1) : undefined;
      }
      text += this.#attribute(name, found);
      end = attribute.lastIndex;
    }
    if (name === "plaintext") this.#until = /(?!)/g;
    else if (rawTags.has(name)) this.#until = new RegExp(`(?=</${name}[ \\n\\r\\t\\f/>])`, "gi");
    return { text: text + html.slice(end, tagEnd.lastIndex), end: tagEnd.lastIndex };
  }

  #attribute(tag: string, [whole, name = "", equals, quotedValue = ""]: RegExpExecArray): string {
    const attributes: Readonly<Record<string, readonly string[]>> = urlAttributes;
    const key = name.toLowerCase();
    const tags = Object.hasOwn(attributes, key) ? attributes[key] : undefined;
    if (equals === undefined || tags?.includes(tag) !== true) return whole;
    const value = unescaped(quotedValue.replace(/^(["'])(.*)\1$/s, "$2"));
    const link = this.#rewrite(value);
    if (link === value) return whole;
    return `${whole.slice(0, whole.length - quotedValue.length)}"${escaped(link)}"`;
  }
}

function piece(html: string, at: number, end: number): Piece {
  return { text: html.slice(at, end), end };
}

const characters: Readonly<Record<string, string>> = { amp: "&", apos: "'", gt: ">", lt: "<", quot: '"' };

/** Decodes the character references that URLs contain; others are kept. */
function unescaped(value: string): string {
  return value.replace(
    /&(?:#(\d{1,7}|x[\da-f]{1,6})|amp|apos|gt|lt|quot);/gi,
    (whole: string, number?: string) => {
      if (number === undefined) return characters[whole.slice(1, -1).toLowerCase()]!;
      const code = Number(/^x/i.test(number) ? `0${number}` : number);
      return code > 0x10_ffff ? whole : Buffer.from(String.fromCodePoint(code)).toString("latin1");
    },
  );
}

function escaped(value: string): string {
  return value.replace(/&(?![a-z][a-z\d]*;)|"/gi, (found) => (found === "&" ? "&amp;" : "&#34;"));
}
