// Pictures of coloured paper, drawn for those who have no webcam.

let drawn = 0;

/** A sheet of paper of a hue, lying somewhere on a grey table, as a file. */
export async function drawPaper(hue) {
  const canvas = new OffscreenCanvas(320, 240);
  const context = canvas.getContext("2d");
  const between = (low, high) => low + Math.random() * (high - low);
  const table = context.createLinearGradient(0, 0, 320, 240);
  table.addColorStop(0, `hsl(40 8% ${between(60, 80)}%)`);
  table.addColorStop(1, `hsl(40 8% ${between(40, 60)}%)`);
  context.fillStyle = table;
  context.fillRect(0, 0, 320, 240);
  context.translate(between(130, 190), between(95, 145));
  context.rotate(between(-0.6, 0.6));
  const [width, height] = [between(150, 210), between(110, 150)];
  context.shadowColor = "rgb(0 0 0 / .4)";
  context.shadowBlur = 12;
  context.fillStyle = `hsl(${hue + between(-8, 8)} ${between(60, 80)}% ${between(38, 55)}%)`;
  context.fillRect(-width / 2, -height / 2, width, height);
  const blob = await canvas.convertToBlob({ type: "image/jpeg", quality: 0.9 });
  drawn += 1;
  return new File([blob], `paper-${drawn}.jpg`, { type: "image/jpeg" });
}
