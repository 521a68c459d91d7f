// Photos from drops, folders and file choosers; small pictures of them; batches to send.

const ENDINGS =
  /\.(jpe?g|jpe|jfif|png|webp|gif|bmp|tiff?|hei[cf]|hif|avif|3fr|arw|cr[23w]|dcr|dng|erf|fff|iiq|kdc|mef|mos|mrw|nef|nrw|orf|pef|raf|raw|rw[2l]|sr[2fw]|x3f)$/i;
const MOST_PHOTOS = 32;
const MOST_BYTES = 48e6;
export const LARGEST = 60e6;
export const NO_PHOTO = "There is no photo in it.";

/** Files of a drop with the folder that each lies in, "" if it was dropped by itself. */
export async function dropped(transfer) {
  const entries = [...transfer.items]
    .filter((item) => item.kind === "file")
    .map((item) => item.webkitGetAsEntry());
  const found = await Promise.all(entries.filter(Boolean).map((entry) => inside(entry, "")));
  return found.flat();
}

async function inside(entry, folder) {
  if (entry.isFile) {
    const file = await new Promise((resolve, reject) => entry.file(resolve, reject)).catch(
      () => null,
    );
    return file && (!folder || isPhoto(file)) ? [{ file, folder }] : [];
  }
  const reader = entry.createReader();
  const entries = [];
  for (;;) {
    const some = await new Promise((resolve) => reader.readEntries(resolve, () => resolve([])));
    if (!some.length) break;
    entries.push(...some);
  }
  return (await Promise.all(entries.map((one) => inside(one, entry.name)))).flat();
}

/** Files of an <input>, which is emptied so that the same can be chosen again. */
export function chosen(input) {
  const found = [...input.files].map((file) => {
    const folder = file.webkitRelativePath.split("/").at(-2) ?? "";
    return { file, folder };
  });
  input.value = "";
  return found.filter(({ file, folder }) => !folder || isPhoto(file));
}

function isPhoto(file) {
  return !file.name.startsWith(".") && (file.type.startsWith("image/") || ENDINGS.test(file.name));
}

export function batches(files, most = MOST_PHOTOS) {
  const found = [];
  let size = Infinity;
  for (const file of files) {
    if (size + file.size > MOST_BYTES || found.at(-1).length === most) {
      found.push([]);
      size = 0;
    }
    found.at(-1).push(file);
    size += file.size;
  }
  return found;
}

/** The address of a small picture, null if the browser cannot read the photo. */
export async function thumbnail(file, side = 240) {
  try {
    const picture = await createImageBitmap(file);
    const scale = Math.min(1, side / Math.min(picture.width, picture.height));
    const canvas = new OffscreenCanvas(
      Math.ceil(picture.width * scale),
      Math.ceil(picture.height * scale),
    );
    canvas.getContext("2d").drawImage(picture, 0, 0, canvas.width, canvas.height);
    picture.close();
    return URL.createObjectURL(await canvas.convertToBlob({ type: "image/jpeg", quality: 0.85 }));
  } catch {
    return null;
  }
}

/** Let an element take drops; calls back with files and folders. */
export function takeDrops(element, take) {
  let depth = 0;
  const mark = (change) => {
    depth = Math.max(0, depth + change);
    element.classList.toggle("over", depth > 0);
  };
  element.addEventListener("dragenter", () => mark(1));
  element.addEventListener("dragleave", () => mark(-1));
  element.addEventListener("drop", async (event) => {
    event.preventDefault();
    mark(-Infinity);
    const found = await dropped(event.dataTransfer);
    take(found);
  });
}
