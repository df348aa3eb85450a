import assert from "node:assert/strict";
import { test } from "node:test";
import { HtmlLinks } from "./html-links.ts";

const upper = (html: string, chunk = html.length): string => {
  const links = new HtmlLinks((link) => (link.startsWith("/") ? `/P${link}` : link));
  let out = "";
  for (let at = 0; at < html.length; at += chunk) out += links.write(html.slice(at, at + chunk));
  return out + links.end();
};

const cases: Readonly<Record<string, readonly [html: string, expected: string]>> = {
  "quotes of each kind": [
    `<a href="/a">x</a><A HREF='/b'><img src=/c><link rel=x href = "/d"/>`,
    `<a href="/P/a">x</a><A HREF="/P/b"><img src="/P/c"><link rel=x href = "/P/d"/>`,
  ],
  "only attributes that hold a URL for their tag": [
    `<a src="/a" title="/t" href="/x"><div href="/b"><form action=/f>`,
    `<a src="/a" title="/t" href="/P/x"><div href="/b"><form action="/P/f">`,
  ],
  "tags without links that change keep their form": [
    `<p  class = x ><BR/><a href='rel' checked><a\nhref=>`,
    `<p  class = x ><BR/><a href='rel' checked><a\nhref=>`,
  ],
  "references are read and written": [
    `<a href="/x?a=1&amp;b=&quot;&#x2f;&copy;"><a href="/&#233;">`,
    `<a href="/P/x?a=1&amp;b=&#34;/&copy;"><a href="/P/\xc3\xa9">`,
  ],
  "what looks like a tag in text is not one": [
    `<script>"<a href='/x'>"</script><!-- <a href="/x"> --><a href="/y"><title><a href="/x"></title><a href="/z">`,
    `<script>"<a href='/x'>"</script><!-- <a href="/x"> --><a href="/P/y"><title><a href="/x"></title><a href="/P/z">`,
  ],
  "comments may be empty or end oddly": [
    `<!--><a href=/a ><!---><a href=/b ><!--x--!><a href=/c ><!doctype <a href=/d >`,
    `<!--><a href="/P/a" ><!---><a href="/P/b" ><!--x--!><a href="/P/c" ><!doctype <a href=/d >`,
  ],
  "a bracket in a quoted value does not end its tag": [
    `<a title=">" href="/x">1 < 2 <a href="/y`,
    `<a title=">" href="/P/x">1 < 2 <a href="/y`,
  ],
  "bytes of other encodings are kept": [`\xe9<a href="/\xe9">\xff`, `\xe9<a href="/P/\xe9">\xff`],
};

for (const [name, [html, expected]] of Object.entries(cases)) {
  test(name, () => {
    assert.equal(upper(html), expected);
    // The result does not depend on the chunks.
    for (const length of [1, 2, 7]) assert.equal(upper(html, length), expected);
  });
}

test("an unterminated tag is not buffered forever", () => {
  const links = new HtmlLinks((link) => link);
  const open = `<a title="${"x".repeat(100_000)}`;
  assert.equal(links.write(open), open);
});
