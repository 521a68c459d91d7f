// The requests of the page, and what went wrong in words.

import { sentence } from "./words.js";

export class Trouble extends Error {
  constructor(code, message) {
    super(sentence(message));
    this.code = code;
  }
}

const GONE = "clsnet does not answer. It may have been stopped; nothing that was learned is lost.";

/** Called with true when the server answers, and with false when it does not. */
export const connection = new EventTarget();

async function call(path, options = {}) {
  const answer = await reach(path, options);
  const body = await answer.json().catch(() => null);
  if (answer.ok && body) return body;
  throw trouble(answer, body);
}

async function reach(path, options) {
  try {
    const answer = await fetch(`/api/v1/${path}`, options);
    connection.dispatchEvent(new CustomEvent("reached", { detail: answer.status }));
    return answer;
  } catch (error) {
    if (error.name === "AbortError") throw error;
    connection.dispatchEvent(new Event("lost"));
    throw new Trouble("gone", GONE);
  }
}

function trouble(answer, body) {
  const { code, message } = body?.error ?? {};
  return new Trouble(
    code ?? `${answer.status}`,
    message ?? `clsnet answered with error ${answer.status}.`,
  );
}

function form(files, fields = {}) {
  const data = new FormData();
  for (const [name, value] of Object.entries(fields)) data.append(name, value);
  for (const file of files) data.append("file", file, file.name || "picture.jpg");
  return { method: "POST", body: data };
}

export const getInfo = () => call("info");
export const getMap = () => call("map");
export const getConfusions = () => call("confusions");
export const predict = (files, signal) => call("predict?top=9", { ...form(files), signal });
export const learn = (files, label) => call("learn", form(files, { class: label }));
export const correct = (file, label, isNew) =>
  call("correct", form([file], { class: label, new: isNew }));
export const forgetPhoto = (file) => call("forget", form([file]));
export const undo = () => call("undo", { method: "POST" });

export function forgetClass(label) {
  const headers = { "Content-Type": "application/json" };
  return call("forget", { method: "POST", headers, body: JSON.stringify({ classes: [label] }) });
}

export function merge(file) {
  const data = new FormData();
  data.append("model", file, file.name);
  return call("merge", { method: "POST", body: data });
}

/** Fetch a file and hand it to the browser's downloads. */
export async function download(path, name) {
  const answer = await reach(path);
  if (!answer.ok) throw trouble(answer, await answer.json().catch(() => null));
  const link = document.createElement("a");
  link.href = URL.createObjectURL(await answer.blob());
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
