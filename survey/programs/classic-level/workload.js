// Put three entries, each with a sync, and say which is in. Arguments: the folder of packages, and how many.
const { ClassicLevel } = require(`${process.argv[2]}/classic-level`);

async function main(count) {
  const db = new ClassicLevel('data/db');
  await db.open();
  for (let number = 1; number <= count; number++) {
    await db.put(`key-${number}`, `value ${number} `.repeat(20), { sync: true });
    console.log('put', number);
  }
  await db.close();
}

main(Number(process.argv[3] ?? 3));
