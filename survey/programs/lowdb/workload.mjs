// Push three rows, write after each, and say which is written. Arguments: the folder of packages, and how many.
const { JSONFilePreset } = await import(`${process.argv[2]}/lowdb/lib/node.js`);
const count = Number(process.argv[3] ?? 3);
const db = await JSONFilePreset('data/db.json', { rows: [0] });
for (let number = 1; number <= count; number++) {
  db.data.rows.push(number);
  await db.write();
  console.log('written', number);
}
if (!count) await db.write();
