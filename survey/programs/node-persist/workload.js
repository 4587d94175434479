// Set three items and say which is set. Arguments: the folder of packages, and how many.
const storage = require(`${process.argv[2]}/node-persist`);

async function main(count) {
  await storage.init({ dir: 'data/store' });
  for (let number = 0; number <= count; number++) {
    await storage.setItem('settings', { version: number, text: `version ${number} `.repeat(20) });
    console.log('set', number);
  }
}

main(Number(process.argv[3] ?? 3));
