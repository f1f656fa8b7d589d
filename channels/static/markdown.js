// Turns the model's markdown into elements. What it writes is not trusted: HTML stays text, links lead only to the
// web or to mail, and images are links, so that reading an answer asks no server for anything.

import MarkdownIt from "/chat/static/vendor/markdown-it.js";

const MAX_RICH = 200_000; // characters; what is longer is shown as plain text
const SAFE_LINK = /^(https?:\/\/|mailto:)/i;

const md = new MarkdownIt({ html: false, linkify: true, breaks: true, typographer: false });
const { escapeHtml } = md.utils;
md.validateLink = (url) => SAFE_LINK.test(url.trim());
md.linkify.set({ fuzzyLink: false, fuzzyEmail: false });

md.renderer.rules.link_open = (tokens, index, options, env, self) => {
  tokens[index].attrSet("rel", "noopener noreferrer nofollow");
  tokens[index].attrSet("target", "_blank");
  return self.renderToken(tokens, index, options);
};
md.renderer.rules.image = (tokens, index) => {
  const url = escapeHtml(tokens[index].attrGet("src") ?? "");
  const label = escapeHtml(tokens[index].content || "image");
  return `<a class="image" href="${url}" rel="noopener noreferrer nofollow" target="_blank">${label}</a>`;
};
md.renderer.rules.fence = (tokens, index) => codeBlock(tokens[index].content, tokens[index].info.trim().split(/\s+/)[0]);
md.renderer.rules.code_block = (tokens, index) => codeBlock(tokens[index].content, "");
md.renderer.rules.table_open = () => '<div class="table" tabindex="0"><table>';
md.renderer.rules.table_close = () => "</table></div>";

function codeBlock(code, language) {
  const label = escapeHtml(language || "text");
  return (
    `<figure class="code"><figcaption><span>${label}</span>` +
    `<button type="button" class="copy" aria-label="Copy code">Copy</button></figcaption>` +
    `<pre tabindex="0"><code>${escapeHtml(code)}</code></pre></figure>`
  );
}

/** Cuts markdown into its top-level blocks, as HTML. */
function blocksOf(text) {
  if (text.length > MAX_RICH) return [`<p class="plain">${escapeHtml(text)}</p>`];
  const env = {};
  const tokens = md.parse(text, env);
  const blocks = [];
  let start = 0;
  tokens.forEach((token, index) => {
    if (token.level === 0 && token.nesting <= 0) {
      blocks.push(md.renderer.render(tokens.slice(start, index + 1), md.options, env));
      start = index + 1;
    }
  });
  return blocks;
}

/** Shows growing markdown in an element, and touches only the blocks that have changed. */
export class Prose {
  #element;
  #blocks = [];
  #nodes = [];

  constructor(element) {
    this.#element = element;
  }

  show(text) {
    const blocks = blocksOf(text);
    let same = 0;
    while (same < blocks.length && blocks[same] === this.#blocks[same]) same += 1;
    this.#nodes.slice(same).flat().forEach((node) => node.remove());
    this.#nodes.length = same;
    for (const html of blocks.slice(same)) {
      const template = document.createElement("template");
      template.innerHTML = html;
      this.#nodes.push([...template.content.childNodes]);
      this.#element.append(template.content);
    }
    this.#blocks = blocks;
  }
}

/** Copies text; pages that are not on https or this machine have no clipboard API. */
export async function copyText(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const field = document.createElement("textarea");
  field.value = text;
  field.className = "hidden";
  document.body.append(field);
  field.select();
  document.execCommand("copy");
  field.remove();
}
