// Open the database: it recovers, and every entry that was put is there.
const { readFileSync } = require('node:fs');
const { ClassicLevel } = require(`${process.argv[2]}/classic-level`);

async function main() {
  const told = readFileSync(process.env.POWERCUT_ACKED, 'utf8').split('\n').slice(0, -1).map((line) => Number(line.split(' ')[1]));
  const db = new ClassicLevel(`${process.env.POWERCUT_DIR}/db`);
  await db.open();
  const lost = [];
  for (const number of told) if ((await db.get(`key-${number}`)) !== `value ${number} `.repeat(20)) lost.push(number);
  await db.close();
  if (lost.length) throw new Error(`put and lost: ${lost}`);
}

main().catch((error) => {
  console.log(String(error), String(error.cause ?? ''));
  process.exitCode = 1;
});
