// Set a key three times and say which value is set. Arguments: the folder of packages, and how many.
const { default: Conf } = await import(`${process.argv[2]}/conf/dist/source/index.js`);
const count = Number(process.argv[3] ?? 3);
const config = new Conf({ cwd: 'data', projectName: 'survey' });
for (let number = 0; number <= count; number++) {
  config.set('version', number);
  console.log('set', number);
}
