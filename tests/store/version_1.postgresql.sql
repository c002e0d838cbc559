CREATE TABLE answers (
    key bytea NOT NULL,
    kind text NOT NULL,
    fingerprint text NOT NULL,
    trial integer NOT NULL,
    body text NOT NULL,
    created double precision NOT NULL,
    batch text
);
CREATE TABLE case_texts (
    run integer NOT NULL,
    "position" integer NOT NULL,
    role text NOT NULL,
    ordinal integer NOT NULL,
    label text,
    hash bytea
);
CREATE TABLE cases (
    run integer NOT NULL,
    "position" integer NOT NULL,
    id text NOT NULL,
    id_digest bytea NOT NULL,
    content bytea NOT NULL,
    failed boolean NOT NULL,
    language text NOT NULL,
    seconds double precision NOT NULL,
    weight double precision NOT NULL,
    "time" text,
    trace_id text,
    relevant_ids text,
    tags text NOT NULL,
    steps bytea NOT NULL
);
CREATE TABLE claims (
    key bytea NOT NULL,
    owner text NOT NULL,
    owner_host text NOT NULL,
    owner_pid bigint NOT NULL,
    since double precision NOT NULL,
    heartbeat double precision NOT NULL
);
CREATE TABLE meta (
    key text NOT NULL,
    value text NOT NULL
);
CREATE TABLE rejected (
    run integer NOT NULL,
    "row" integer NOT NULL,
    field text NOT NULL,
    reason text NOT NULL
);
CREATE TABLE runs (
    number integer NOT NULL,
    identity text NOT NULL,
    state text NOT NULL,
    created text NOT NULL,
    finished text,
    input text NOT NULL,
    rows_hash text NOT NULL,
    rows integer NOT NULL,
    metrics text NOT NULL,
    judge text NOT NULL,
    fingerprints text NOT NULL,
    configuration text NOT NULL,
    versions text NOT NULL,
    seconds double precision NOT NULL,
    cost double precision NOT NULL,
    owner text,
    owner_host text,
    owner_pid bigint,
    heartbeat double precision,
    requests integer NOT NULL,
    tokens_in integer NOT NULL,
    tokens_out integer NOT NULL,
    trial integer NOT NULL,
    repeats integer
);
CREATE SEQUENCE runs_number_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE runs_number_seq OWNED BY runs.number;
CREATE TABLE scores (
    run integer NOT NULL,
    metric text NOT NULL,
    "position" integer NOT NULL,
    value double precision,
    reason text,
    failed boolean NOT NULL,
    judged integer,
    unknown integer
);
CREATE TABLE texts (
    hash bytea NOT NULL,
    text text NOT NULL
);
CREATE TABLE tickets (
    key bytea NOT NULL,
    fingerprint text NOT NULL,
    batch text NOT NULL,
    submitted double precision NOT NULL
);
ALTER TABLE ONLY runs ALTER COLUMN number SET DEFAULT nextval('runs_number_seq'::regclass);
INSERT INTO answers VALUES ('\xc3041276be91e5de2f834e7d75a0d223', 'questions', 'fake:questions:1', 0, '[[["What is the price of the ticket number 0?",[0,41],null,false],["What paraphrased.",null,null,false]]]', 1795738225.0436218, NULL);
INSERT INTO answers VALUES ('\x4cc233ad53e0e5845831a6d233cd37ea', 'claims', 'fake:claims:1', 0, '[[["The price of it is six euros.",[0,29],null,false],["The ticket number 0 is valid for the day.",[30,71],null,false],["The paraphrased.",null,null,false]]]', 1795738225.0436218, NULL);
INSERT INTO answers VALUES ('\x88d451dae4fe4858919c83f5f5bc7e9a', 'sentences', 'fake:sentences:1', 0, '[[["The price of it is six euros.",[0,29],null,false],["The ticket number 0 is valid for the day.",[30,71],null,false],["The paraphrased.",null,null,false]]]', 1795738225.0436218, NULL);
INSERT INTO answers VALUES ('\x8d542cd01bd6ef7c60aca527dfa56925', 'essential', 'fake:essential:1', 0, '["unknown",0.3333333333333333,null,"it can''t be told",true]', 1795738225.0436218, NULL);
INSERT INTO answers VALUES ('\x6fcc5ff00b2c47da6f515005ffdf1e27', 'essential', 'fake:essential:1', 0, '["no",0.05252725470763132,0.30000000000000004,"",false]', 1795738225.0436218, NULL);
INSERT INTO answers VALUES ('\x1c9ae040086cb892d9c59e112e0b23ff', 'facts', 'fake:facts:1', 0, '[[["The price of the ticket number 0 is six euros.",[0,46],null,false],["It is valid until the evening.",[47,77],null,false],["The paraphrased.",null,null,false]]]', 1795738225.0436218, NULL);
INSERT INTO answers VALUES ('\x75d82fe472acf1d7e21910028d99452f', 'facts', 'fake:facts:1', 0, '[[["All of the dogs travel for free if they sit on a lap.",[0,53],null,false],["All paraphrased.",null,null,false]]]', 1795738225.0436218, NULL);
INSERT INTO answers VALUES ('\xc0466f40da1bc783f70d4a741381400b', 'answered', 'fake:answered:1', 0, '["yes",0.9,0.7,"\u00fc: because\n\u0000",true]', 1795738225.0436218, NULL);
INSERT INTO answers VALUES ('\x50e39fd3dbf941f158379547e3690cf2', 'answered', 'fake:answered:1', 0, '["yes",0.9,0.7,"\u00fc: because\n\u0000",true]', 1795738225.0436218, NULL);
INSERT INTO answers VALUES ('\xf9ddafff28c604d5af776798e71eb20f', 'answered', 'fake:answered:1', 0, '["yes",0.9,0.7,"\u00fc: because\n\u0000",true]', 1795738225.0436218, NULL);
INSERT INTO answers VALUES ('\xc98ff97545548a8252db6a012b757fbd', 'answered', 'fake:answered:1', 0, '["unknown",0.3333333333333333,null,"it can''t be told",true]', 1795738225.0436218, NULL);
INSERT INTO answers VALUES ('\x003e52af3693ece0fc905d3e1b239360', 'essential', 'fake:essential:1', 0, '["no",0.028741328047571853,0.30000000000000004,"",false]', 1795738225.0436218, NULL);
INSERT INTO answers VALUES ('\xa87f36e958110c7b76eb856cf0c6cd03', 'essential', 'fake:essential:1', 0, '["no",0.040634291377601585,0.30000000000000004,"",false]', 1795738225.0436218, NULL);
INSERT INTO answers VALUES ('\xe6e5f53c8399af365500ee3b765a4ada', 'essential', 'fake:essential:1', 0, '["yes",0.9,0.7,"\u00fc: because\n\u0000",true]', 1795738225.0436218, NULL);
INSERT INTO answers VALUES ('\xfc226addb360a82c4f153273a3409b7e', 'answered', 'fake:answered:1', 0, '["unknown",0.3333333333333333,null,"it can''t be told",true]', 1795738225.0436218, NULL);
INSERT INTO answers VALUES ('\xb6fc95f2017ab66ffe8a98b596cb4b33', 'answered', 'fake:answered:1', 0, '["yes",0.9,0.7,"\u00fc: because\n\u0000",true]', 1795738225.0436218, NULL);
INSERT INTO answers VALUES ('\x542b72701d2db4449c6b78e4d574e4da', 'similarity', 'fake:similarity:1', 0, '["no",0.11397423191278494,0.30000000000000004,"",false]', 1795738225.0436218, NULL);
INSERT INTO answers VALUES ('\x286e9d27b403ffe463a9c446fadd3572', 'similarity', 'fake:similarity:1', 0, '["no",0.12586719524281467,0.30000000000000004,"",false]', 1795738225.0436218, NULL);
INSERT INTO answers VALUES ('\xce95535400bf334701fd4ccde3306162', 'similarity', 'fake:similarity:1', 0, '["yes",0.9,0.7,"\u00fc: because\n\u0000",true]', 1795738225.0436218, NULL);
INSERT INTO answers VALUES ('\xa034730d288c955ec42356b84b2ffac4', 'supported', 'fake:supported:1', 0, '["no",0.15758176412289396,0.30000000000000004,"",false]', 1795738225.0436218, NULL);
INSERT INTO answers VALUES ('\x29b30c6ec887a7cd5582c81d1b1ee691', 'supported', 'fake:supported:1', 0, '["no",0.1694747274529237,0.30000000000000004,"",false]', 1795738225.0436218, NULL);
INSERT INTO answers VALUES ('\xf827be0ba758482810898cc84d2f3214', 'supported', 'fake:supported:1', 0, '["yes",0.9,0.7,"\u00fc: because\n\u0000",true]', 1795738225.0436218, NULL);
INSERT INTO answers VALUES ('\x7b2f7fe57c928fbe43eb8458701dd8e8', 'essential', 'fake:essential:1', 0, '["no",0.12190287413280476,0.30000000000000004,"",false]', 1795738225.0436218, NULL);
INSERT INTO answers VALUES ('\x131ee9118b4297e5fc46d955934bce98', 'essential', 'fake:essential:1', 0, '["no",0.10604558969276512,0.30000000000000004,"",false]', 1795738225.0436218, NULL);
INSERT INTO answers VALUES ('\xb453cbf17c50c3aeea9b975417be7a67', 'essential', 'fake:essential:1', 0, '["no",0.09217046580773043,0.30000000000000004,"",false]', 1795738225.0436218, NULL);
INSERT INTO answers VALUES ('\xac4b4b000a705cbb1b1a312480c4a865', 'essential', 'fake:essential:1', 0, '["no",0.06838453914767097,0.30000000000000004,"",false]', 1795738225.0436218, NULL);
INSERT INTO answers VALUES ('\x891a351f928bfc0accbedc1aeb70ecd9', 'standalone', 'fake:standalone:1', 0, '[[["And what is the price of the other one?",[0,39],null,false],["And paraphrased.",null,null,false]]]', 1795738225.0436218, NULL);
INSERT INTO answers VALUES ('\xf5415c30830076d4122d433f277a192e', 'questions', 'fake:questions:1', 0, '[[["And what is the price of the other one?",[0,39],null,false],["And paraphrased.",null,null,false]]]', 1795738225.0436218, NULL);
INSERT INTO answers VALUES ('\x4eea210e82253c60323b66a1a758f244', 'claims', 'fake:claims:1', 0, '[[["\\It is nine (a).",[0,16],null,false],["\\It paraphrased.",null,null,false]]]', 1795738225.0436218, NULL);
INSERT INTO answers VALUES ('\xc2f0f5f5422a42df77e84b483db2f2a2', 'sentences', 'fake:sentences:1', 0, '[[["\\It is nine (a).",[0,16],null,false],["\\It paraphrased.",null,null,false]]]', 1795738225.0436218, NULL);
INSERT INTO answers VALUES ('\xd50cb511d11bf2bbe57ac7377789a8db', 'essential', 'fake:essential:1', 0, '["no",0.036669970267591674,0.30000000000000004,"",false]', 1795738225.0436218, NULL);
INSERT INTO answers VALUES ('\x6b381cc923c493ca5c9e07fee9a5cd6b', 'essential', 'fake:essential:1', 0, '["yes",0.9,0.7,"\u00fc: because\n\u0000",true]', 1795738225.0436218, NULL);
INSERT INTO answers VALUES ('\xeb04b8cec7e5a8d00bb5c0cab1456ce4', 'facts', 'fake:facts:1', 0, '[[["The price of the other one is \u0000 nine.",[0,37],null,false],["The paraphrased.",null,null,false]]]', 1795738225.0436218, NULL);
INSERT INTO answers VALUES ('\xb765d421e90397e9fc2845147fa49b02', 'facts', 'fake:facts:1', 0, '[[["The \ud800 odd.",[0,10],null,false],["The paraphrased.",null,null,false]]]', 1795738225.0436218, NULL);
INSERT INTO answers VALUES ('\x50f1f98eea13a24a79b769a3d8c3478b', 'answered', 'fake:answered:1', 0, '["yes",0.9,0.7,"\u00fc: because\n\u0000",true]', 1795738225.0436218, NULL);
INSERT INTO answers VALUES ('\xacb2c696d44abc3df18775e8d2392050', 'answered', 'fake:answered:1', 0, '["unknown",0.3333333333333333,null,"it can''t be told",true]', 1795738225.0436218, NULL);
INSERT INTO answers VALUES ('\x89e8a8c15a6bef3b9459a9c45874638f', 'answered', 'fake:answered:1', 0, '["no",0.05252725470763132,0.30000000000000004,"",false]', 1795738225.0436218, NULL);
INSERT INTO answers VALUES ('\xe206df40d82d0eccbe1ffc88423d953a', 'answered', 'fake:answered:1', 0, '["yes",0.9,0.7,"\u00fc: because\n\u0000",true]', 1795738225.0436218, NULL);
INSERT INTO answers VALUES ('\x8665145e46edb61963940f91624cfad0', 'essential', 'fake:essential:1', 0, '["yes",0.9,0.7,"\u00fc: because\n\u0000",true]', 1795738225.0436218, NULL);
INSERT INTO answers VALUES ('\x9a8b8fe3f90581bcd06def5d46aaefe8', 'essential', 'fake:essential:1', 0, '["yes",0.9,0.7,"\u00fc: because\n\u0000",true]', 1795738225.0436218, NULL);
INSERT INTO answers VALUES ('\x7f455e0f7ab2703096b56e6694a9abaa', 'answered', 'fake:answered:1', 0, '["no",0.05450941526263627,0.30000000000000004,"",false]', 1795738225.0436218, NULL);
INSERT INTO answers VALUES ('\x16008993cfad385c131fa11306a82fa0', 'answered', 'fake:answered:1', 0, '["yes",0.9,0.7,"\u00fc: because\n\u0000",true]', 1795738225.0436218, NULL);
INSERT INTO answers VALUES ('\x45ea307a448b8f784566a09b8243438c', 'similarity', 'fake:similarity:1', 0, '["yes",0.9,0.7,"\u00fc: because\n\u0000",true]', 1795738225.0436218, NULL);
INSERT INTO answers VALUES ('\x6320092faec0cce2d0bd2f52094d6289', 'similarity', 'fake:similarity:1', 0, '["yes",0.9,0.7,"\u00fc: because\n\u0000",true]', 1795738225.0436218, NULL);
INSERT INTO answers VALUES ('\x3aa1ba688bea1552a90332aaa84dfc06', 'supported', 'fake:supported:1', 0, '["unknown",0.3333333333333333,null,"it can''t be told",true]', 1795738225.0436218, NULL);
INSERT INTO answers VALUES ('\xd33f18a4873732e1875668d71b163b05', 'supported', 'fake:supported:1', 0, '["unknown",0.3333333333333333,null,"it can''t be told",true]', 1795738225.0436218, NULL);
INSERT INTO answers VALUES ('\x6d486e46d16f725978322a8300957955', 'essential', 'fake:essential:1', 0, '["no",0.05252725470763132,0.30000000000000004,"",false]', 1795738225.0436218, NULL);
INSERT INTO answers VALUES ('\x9604726f2f4495186e53528d685b2370', 'essential', 'fake:essential:1', 0, '["yes",0.9,0.7,"\u00fc: because\n\u0000",true]', 1795738225.0436218, NULL);
INSERT INTO answers VALUES ('\x52e424b8221f32ade4da296cd513a2f8', 'questions', 'fake:questions:1', 0, '[[["What is the price of the ticket number 3?",[0,41],null,false],["What paraphrased.",null,null,false]]]', 1795738225.0436218, NULL);
INSERT INTO answers VALUES ('\xf9f69b54c0841249b35113a197f23d94', 'claims', 'fake:claims:1', 0, '[[["The price of it is six euros.",[0,29],null,false],["The ticket number 3 is valid for the day.",[30,71],null,false],["The paraphrased.",null,null,false]]]', 1795738225.0436218, NULL);
INSERT INTO answers VALUES ('\xc5fbf2659b0d080a86a9354d291ab43d', 'sentences', 'fake:sentences:1', 0, '[[["The price of it is six euros.",[0,29],null,false],["The ticket number 3 is valid for the day.",[30,71],null,false],["The paraphrased.",null,null,false]]]', 1795738225.0436218, NULL);
INSERT INTO answers VALUES ('\x52a62cbe5bde0a9733808bf1f40ae600', 'essential', 'fake:essential:1', 0, '["unknown",0.3333333333333333,null,"it can''t be told",true]', 1795738225.0436218, NULL);
INSERT INTO answers VALUES ('\x9cfd6a638554d145e98738dfb1d1fc4e', 'essential', 'fake:essential:1', 0, '["no",0.05252725470763132,0.30000000000000004,"",false]', 1795738225.0436218, NULL);
INSERT INTO answers VALUES ('\x6b7502c9c212e3c980fa2bd9cc820ef9', 'facts', 'fake:facts:1', 0, '[[["The price of the ticket number 3 is six euros.",[0,46],null,false],["It is valid until the evening.",[47,77],null,false],["The paraphrased.",null,null,false]]]', 1795738225.0436218, NULL);
INSERT INTO answers VALUES ('\x4d46233fa03a52adf61fa0716000df40', 'facts', 'fake:facts:1', 0, '[[["All of the dogs travel for free if they sit on a lap.",[0,53],null,false],["All paraphrased.",null,null,false]]]', 1795738225.0436218, NULL);
INSERT INTO answers VALUES ('\x70bdaac2ae84dbc79c8fefe669cfb2b2', 'answered', 'fake:answered:1', 0, '["yes",0.9,0.7,"\u00fc: because\n\u0000",true]', 1795738225.0436218, NULL);
INSERT INTO answers VALUES ('\x1ffd39e11520203157bef0a2afb2d5e7', 'answered', 'fake:answered:1', 0, '["yes",0.9,0.7,"\u00fc: because\n\u0000",true]', 1795738225.0436218, NULL);
INSERT INTO answers VALUES ('\x6e6f8b7b4a7e8bd9d88d77f7624608c6', 'answered', 'fake:answered:1', 0, '["yes",0.9,0.7,"\u00fc: because\n\u0000",true]', 1795738225.0436218, NULL);
INSERT INTO answers VALUES ('\x8dbb56bf9e15af5f9aa5d51670b5c675', 'answered', 'fake:answered:1', 0, '["unknown",0.3333333333333333,null,"it can''t be told",true]', 1795738225.0436218, NULL);
INSERT INTO answers VALUES ('\xf1a2e30a59b18b4d199abcc58d302fba', 'essential', 'fake:essential:1', 0, '["no",0.028741328047571853,0.30000000000000004,"",false]', 1795738225.0436218, NULL);
INSERT INTO answers VALUES ('\xf29097b0694dc6e039403d5a8482f406', 'essential', 'fake:essential:1', 0, '["no",0.040634291377601585,0.30000000000000004,"",false]', 1795738225.0436218, NULL);
INSERT INTO answers VALUES ('\x2f7014606496d58bdd4339eef898e895', 'essential', 'fake:essential:1', 0, '["yes",0.9,0.7,"\u00fc: because\n\u0000",true]', 1795738225.0436218, NULL);
INSERT INTO answers VALUES ('\xaeeb90d6ee2ce27144e673e53b94916d', 'answered', 'fake:answered:1', 0, '["unknown",0.3333333333333333,null,"it can''t be told",true]', 1795738225.0436218, NULL);
INSERT INTO answers VALUES ('\x7f2d528a4588e2a9c84c4b826484715b', 'answered', 'fake:answered:1', 0, '["yes",0.9,0.7,"\u00fc: because\n\u0000",true]', 1795738225.0436218, NULL);
INSERT INTO answers VALUES ('\x69148623bc5778b0ccdfb61f5ae0ac11', 'similarity', 'fake:similarity:1', 0, '["no",0.11397423191278494,0.30000000000000004,"",false]', 1795738225.0436218, NULL);
INSERT INTO answers VALUES ('\xb20ba59368a1df14bc4b87a45c14e2ce', 'similarity', 'fake:similarity:1', 0, '["no",0.12586719524281467,0.30000000000000004,"",false]', 1795738225.0436218, NULL);
INSERT INTO answers VALUES ('\x33719fa8911fcddf294b43b715f8c4fe', 'similarity', 'fake:similarity:1', 0, '["yes",0.9,0.7,"\u00fc: because\n\u0000",true]', 1795738225.0436218, NULL);
INSERT INTO answers VALUES ('\xef647741f7f4e4bb71f7cf593a8313c2', 'supported', 'fake:supported:1', 0, '["no",0.15758176412289396,0.30000000000000004,"",false]', 1795738225.0436218, NULL);
INSERT INTO answers VALUES ('\x0ea15189fd7e4f8d8ecc25dde6c58cff', 'supported', 'fake:supported:1', 0, '["no",0.1694747274529237,0.30000000000000004,"",false]', 1795738225.0436218, NULL);
INSERT INTO answers VALUES ('\xb1351a91c8730e8bec85084cca06ccfa', 'supported', 'fake:supported:1', 0, '["yes",0.9,0.7,"\u00fc: because\n\u0000",true]', 1795738225.0436218, NULL);
INSERT INTO answers VALUES ('\x84a45801002f6457c7f5721a0ab874da', 'essential', 'fake:essential:1', 0, '["no",0.12190287413280476,0.30000000000000004,"",false]', 1795738225.0436218, NULL);
INSERT INTO answers VALUES ('\x7400b6b2ee9bbe63effdd6f7cb8c82a6', 'essential', 'fake:essential:1', 0, '["no",0.10604558969276512,0.30000000000000004,"",false]', 1795738225.0436218, NULL);
INSERT INTO answers VALUES ('\xf9d80a20bb6376b9fd5cf1ef283df885', 'essential', 'fake:essential:1', 0, '["no",0.09217046580773043,0.30000000000000004,"",false]', 1795738225.0436218, NULL);
INSERT INTO answers VALUES ('\xfbf5c233c68beab7afed245f84bfdeef', 'essential', 'fake:essential:1', 0, '["no",0.06838453914767097,0.30000000000000004,"",false]', 1795738225.0436218, NULL);
INSERT INTO case_texts VALUES (1, 0, 'query', 0, NULL, '\x19bd6662471eeab58085bbf9a63b532f');
INSERT INTO case_texts VALUES (1, 0, 'response', 0, NULL, '\xe23322231f8c2ee2f57c9042764a685a');
INSERT INTO case_texts VALUES (1, 0, 'source', 0, 'doc 0', '\xdb7c3841753e47bc341f6c5c96c2519f');
INSERT INTO case_texts VALUES (1, 0, 'source', 1, NULL, '\xe984fb197b6e2ba032ef551e0a753110');
INSERT INTO case_texts VALUES (1, 2, 'query', 0, NULL, '\xee3efaed9e2cf221feacb46edb439072');
INSERT INTO case_texts VALUES (1, 2, 'response', 0, NULL, '\x9c26df356f8a4bddc79d21b98be30520');
INSERT INTO case_texts VALUES (1, 2, 'source', 0, 'doc 3', '\xed5f4cf189c84ba1866315fabad91322');
INSERT INTO case_texts VALUES (1, 2, 'source', 1, NULL, '\xe984fb197b6e2ba032ef551e0a753110');
INSERT INTO case_texts VALUES (1, 1, 'query', 0, NULL, '\x3ddf6d0706181669233674420a23a1b9');
INSERT INTO case_texts VALUES (1, 1, 'response', 0, NULL, '\xe3b13e7030153b847667ab868b0b7301');
INSERT INTO case_texts VALUES (1, 1, 'reference', 0, NULL, '\x96ce86c66ad3e8dfc8cff8e8ff0d4c77');
INSERT INTO case_texts VALUES (1, 1, 'source', 0, 'a', '\x99cbc0b29976a6366c57b1f1574f803b');
INSERT INTO case_texts VALUES (1, 1, 'source', 1, NULL, '\xcae66941d9efbd404e4d88758ea67670');
INSERT INTO case_texts VALUES (1, 1, 'source', 2, '', '\xf254bcd9e4a0be18cc4b06e3e796daf5');
INSERT INTO case_texts VALUES (1, 1, 'history', 0, 'user', '\xa2225f0223a6d546b85938bd38e4a32b');
INSERT INTO case_texts VALUES (1, 1, 'history', 1, 'assistant', '\x97e0e7c25294b3852245e2a69850b0f7');
INSERT INTO case_texts VALUES (1, 1, 'sample', 0, NULL, '\x578731368a0da8320475fe4d6afcee64');
INSERT INTO case_texts VALUES (1, 1, 'sample', 1, NULL, '\x6e8bc2df1d80dafb5f6dc0ce6f006335');
INSERT INTO case_texts VALUES (1, 1, 'citation mark', 0, NULL, '\xb9fec5ecda43ab5b815b1f03138cf9d7');
INSERT INTO case_texts VALUES (2, 0, 'query', 0, NULL, '\x19bd6662471eeab58085bbf9a63b532f');
INSERT INTO case_texts VALUES (2, 0, 'response', 0, NULL, '\xe23322231f8c2ee2f57c9042764a685a');
INSERT INTO case_texts VALUES (2, 0, 'source', 0, 'doc 0', '\xdb7c3841753e47bc341f6c5c96c2519f');
INSERT INTO case_texts VALUES (2, 0, 'source', 1, NULL, '\xe984fb197b6e2ba032ef551e0a753110');
INSERT INTO case_texts VALUES (2, 1, 'query', 0, NULL, '\x3ddf6d0706181669233674420a23a1b9');
INSERT INTO case_texts VALUES (2, 1, 'response', 0, NULL, '\xe3b13e7030153b847667ab868b0b7301');
INSERT INTO case_texts VALUES (2, 1, 'reference', 0, NULL, '\x96ce86c66ad3e8dfc8cff8e8ff0d4c77');
INSERT INTO case_texts VALUES (2, 1, 'source', 0, 'a', '\x99cbc0b29976a6366c57b1f1574f803b');
INSERT INTO case_texts VALUES (2, 1, 'source', 1, NULL, '\xcae66941d9efbd404e4d88758ea67670');
INSERT INTO case_texts VALUES (2, 1, 'source', 2, '', '\xf254bcd9e4a0be18cc4b06e3e796daf5');
INSERT INTO case_texts VALUES (2, 1, 'history', 0, 'user', '\xa2225f0223a6d546b85938bd38e4a32b');
INSERT INTO case_texts VALUES (2, 1, 'history', 1, 'assistant', '\x97e0e7c25294b3852245e2a69850b0f7');
INSERT INTO case_texts VALUES (2, 1, 'sample', 0, NULL, '\x578731368a0da8320475fe4d6afcee64');
INSERT INTO case_texts VALUES (2, 1, 'sample', 1, NULL, '\x6e8bc2df1d80dafb5f6dc0ce6f006335');
INSERT INTO case_texts VALUES (2, 1, 'citation mark', 0, NULL, '\xb9fec5ecda43ab5b815b1f03138cf9d7');
INSERT INTO case_texts VALUES (2, 2, 'query', 0, NULL, '\xee3efaed9e2cf221feacb46edb439072');
INSERT INTO case_texts VALUES (2, 2, 'response', 0, NULL, '\x9c26df356f8a4bddc79d21b98be30520');
INSERT INTO case_texts VALUES (2, 2, 'source', 0, 'doc 3', '\xed5f4cf189c84ba1866315fabad91322');
INSERT INTO case_texts VALUES (2, 2, 'source', 1, NULL, '\xe984fb197b6e2ba032ef551e0a753110');
INSERT INTO cases VALUES (1, 0, 'case 0', '\x4f0b0ef50e744c6806bc3a8ec7c1c6cc', '\xaf1d4189d8214aa161461380a832eea1', false, 'en', 0.009613171001547016, 1, NULL, NULL, NULL, '{"part": 0}', '\x7801cd55db8e9b3010fd15e49766256fe4bb71defa0f95fa90dd07973805958514432314edbf774c920db7b0dd3e2d1281cc0ce399e333c75b8ab75b8209d61aef6dee1d26cf784bc12079cf5034790e36412f360a419dedf673fe1a7d4f6d1d1d6c650f6965bddbadd135946066c629392c7ccd1916bea5ebde2e39bfa56e9232d42c542f1ffcd5c32e08bea55bc844a7615ff37cb4e0333e215f3655e2fceaf27c401b400e9040bf1be7ebac2cfc0adeaa363818e6e048729bbdf855e5fc01bc2e3804965881cbbba276454837e7753ef8339b5f17bb3e1f70745de3848ed9ae4ed18662f4c755bb2ca93ddaa0a640903d29216d2870cd4717266b2299649a49a189569c72164a2d8b7db6eb2a82cf3ae0e05b32bc04041ed3166d4e88c052591d25b6f852473f5c5497f90ebd62b4cfed4f58f804af4de19bca41b68051621b1f2a0a8e721f2a03e842bc85b2dfba03bbc6313698620a7c40b6f04757b95d007600318e9c4dd2e8bc1580eb1b186c0046dbb6cd100e03fd5fef1132dd8e0d60206b0de1e73b400215f5da7f6a08d9271be8be6beea9080642603d0ae0dcf7b2452fff00b050cf04d7c03cc0f5c6a03109df655051b443cc088bb5009ac44468a9690cd20024124471c10ce55a2b42652c03b2a1a21184131241dc9c4ddfd05d42087a9be3d8791227689cc70dbe5960526f00df68349aa9112063e2cc767e99a15e5bb333b3cc963bdd025493562f1befb3972cb7d56a46607054d6a9aba2a47c013d0281f1fdc919b63c2101a5dc68c1383594e95818014d532663a5a9914cb0980a1526e5f352c037874359d5a026d391b869fa1d0a4cf1905ac6542b41198b0d372ae0a18cd042332d24338c7f6e381626e28a467404bab86821b2afc2516e935f3e6a3b999f3f9c1e1ffbca12583c100b309cf5f5e3b4bfe9ddf044f907b52b8ad1914919357dcdebb6962822a48c8d324c2b49196c37318c6a22948c89d69c884e16c7676b8853318f85e4860aad34314112868dcf2be29c4afeb7ed3d6c41403148080e67fc445b7a87f2ebebf35f501b08d0');
INSERT INTO cases VALUES (1, 2, 'case 3', '\x3e8aace0653c7a128c7c0c1dd8d3886a', '\x1d8563584def8301766b4d91543b1cad', false, 'en', 0.006849149998743087, 1, NULL, NULL, NULL, '{"part": 0}', '\x7801cd55db8e9b3010fd15e49766256fe4bb71defa0f95fa90dd07973805958514432314edbf774c920db7b0dd3e2d1281cc0ce399e333c75b8ab75b8209d61aef6dee1d26cf784bc12079cf5034790e36412f360a419dedf673fe1a7d4f6d1d1d6c650f6965bddbadd135946066c629392c7ccd1916bea5ebde2e39bfa56e9232d42c542f1ffcd5c32e08bea55bc844a7615ff37cb4e0333e215f3655e2fceaf27c401b400e9040bf1be7ebac2cfc0adeaa363818e6e048729bbdf855e5fc01bc2e3804965881cbbba276454837e7753ef8339b5f17bb3e1f70745de3848ed9ae4ed18662f4c755bb2ca93ddaa0a640903d29216d2870cd4717266b2299649a49a189569c72164a2d8b7db6eb2a82cf3ae0e05b32bc04041ed3166d4e88c052591d25b6f852473f5c5497f90ebd62b4cfed4f58f804af4de19bca41b68051621b1f2a0a8e721f2a03e842bc85b2dfba03bbc6313698620a7c40b6f04757b95d007600318e9c4dd2e8bc1580eb1b186c0046dbb6cd100e03fd5fef1132dd8e0d60206b0de1e73b400215f5da7f6a08d9271be8be6beea9080642603d0ae0dcf7b2452fff00b050cf04d7c03cc0f5c6a03109df655051b443cc088bb5009ac44468a9690cd20024124471c10ce55a2b42652c03b2a1a21184131241dc9c4ddfd05d42087a9be3d8791227689cc70dbe5960526f00df68349aa9112063e2cc767e99a15e5bb333b3cc963bdd025493562f1befb3972cb7d56a46607054d6a9aba2a47c013d0281f1fdc919b63c2101a5dc68c1383594e95818014d532663a5a9914cb0980a1526e5f352c037874359d5a026d391b869fa1d0a4cf1905ac6542b41198b0d372ae0a18cd042332d24338c7f6e381626e28a467404bab86821b2afc2516e935f3e6a3b999f3f9c1e1ffbca12583c100b309cf5f5e3b4bfe9ddf044f907b52b8ad1914919357dcdebb6962822a48c8d324c2b49196c37318c6a22948c89d69c884e16c7676b8853318f85e4860aad34314112868dcf2be29c4afeb7ed3d6c41403148080e67fc445b7a87f2ebebf35f501b08d0');
INSERT INTO cases VALUES (1, 1, 'full', '\xb8c8dbd3cfa9af1b1b90e4c66e5a4e1d', '\x62e2083b17f4d48819a55180bb0abdcf', false, 'en', 0.008395836001000134, 2.5, '2026-01-02T03:04:05+00:00', 't-1', '["a"]', '{"nested": {"a": [1, null, 2.5]}, "text": "\u00fc\ud800\u0000", "": ""}', '\x7801d556cbb2da300cfd158f37e5cef832cebb61d765f7dd010b373137990687c64e6986e1df2b85007998d7dd35331022c9b1747474ccd261cba5aa8b8271e6c56c230a2d99b366275beb68bf4e0efa4da564272ab1cb2aa1653aa710c97169d42de56070c0c07bcf2e3c397d43b79f13f682ae5bf5f75badbe1bcb86d7e02eaf1f999c84b9ec89b0353b506d844a45512a39fb5dcbaa79a30b280a40a0baacab44ea59774787cb3ce6830b22b5c94ba5c76b9242e45b3daba4de8157e29a8085f832a98c54f8baa94f6af4e6a2386f75bebf3172cee940f7796a32ba7018fd23ab344f8ca60baa5443e1e549096fc5c4e7dc0bc3308e23ee8651103b61e43330c227862492526df2b44da30df6f8f0f299d3c64610bbcf1aba385007363199ac24c935512531f2af21a6245959a42437447c885c690349b810b9aa39df240bf25326a2d672a5d0c0393d32ba29c407a478809fb5d275253103cc09033b47b901e309635c21a0c60b14ad27623efb0a8b84d27bc82945f8078d60448a2423a79601fa17d8bc016c8daa27c8c51d50dee84273e0066ee4067ec4a3d0733ce0f44d4ca316c3967c7cfe04c0fc0e6cec45f8a11f89505f0ce00f3d2a52e88aff74ff823b8960372cfdf36cfdc3e181f82ba9c733f190d4cd88d3d8191b7d23b0f7a8fa18c917e969ab0ea719aabb43c0de7c5fd8371ada517d3cf0031efb4ee0866ee8852ed665ab77caa641fd38aa2f56681dc0ae813adfe685a86616e562a4444d2049b9059903edd2fd511b16fb1f3453d7bb5d591990932955afe27fa399753d14e0917a78d0cbb109793550e2cb51059e4e7791cc9671c61e4fccc047db74e23663717d4cdf73c164dfaafe1da2f795961422f9a549d32ab9fda87a7fef0335c1e052fa0bd54ca46678643c141a3803c6a3683d3e2df27f4b936c336ab38db4ebdee1c9a8f789c96effc24cfaefb2d3117a3caeff0128921721');
INSERT INTO cases VALUES (2, 0, 'case 0', '\x4f0b0ef50e744c6806bc3a8ec7c1c6cc', '\xaf1d4189d8214aa161461380a832eea1', false, 'en', 0.0007352559987339191, 1, NULL, NULL, NULL, '{"part": 0}', '\x7801cd55db8e9b3010fd15e49766256fe4bb71defa0f95fa90dd07973805958514432314edbf774c920db7b0dd3e2d1281cc0ce399e333c75b8ab75b8209d61aef6dee1d26cf784bc12079cf5034790e36412f360a419dedf673fe1a7d4f6d1d1d6c650f6965bddbadd135946066c629392c7ccd1916bea5ebde2e39bfa56e9232d42c542f1ffcd5c32e08bea55bc844a7615ff37cb4e0333e215f3655e2fceaf27c401b400e9040bf1be7ebac2cfc0adeaa363818e6e048729bbdf855e5fc01bc2e3804965881cbbba276454837e7753ef8339b5f17bb3e1f70745de3848ed9ae4ed18662f4c755bb2ca93ddaa0a640903d29216d2870cd4717266b2299649a49a189569c72164a2d8b7db6eb2a82cf3ae0e05b32bc04041ed3166d4e88c052591d25b6f852473f5c5497f90ebd62b4cfed4f58f804af4de19bca41b68051621b1f2a0a8e721f2a03e842bc85b2dfba03bbc6313698620a7c40b6f04757b95d007600318e9c4dd2e8bc1580eb1b186c0046dbb6cd100e03fd5fef1132dd8e0d60206b0de1e73b400215f5da7f6a08d9271be8be6beea9080642603d0ae0dcf7b2452fff00b050cf04d7c03cc0f5c6a03109df655051b443cc088bb5009ac44468a9690cd20024124471c10ce55a2b42652c03b2a1a21184131241dc9c4ddfd05d42087a9be3d8791227689cc70dbe5960526f00df68349aa9112063e2cc767e99a15e5bb333b3cc963bdd025493562f1befb3972cb7d56a46607054d6a9aba2a47c013d0281f1fdc919b63c2101a5dc68c1383594e95818014d532663a5a9914cb0980a1526e5f352c037874359d5a026d391b869fa1d0a4cf1905ac6542b41198b0d372ae0a18cd042332d24338c7f6e381626e28a467404bab86821b2afc2516e935f3e6a3b999f3f9c1e1ffbca12583c100b309cf5f5e3b4bfe9ddf044f907b52b8ad1914919357dcdebb6962822a48c8d324c2b49196c37318c6a22948c89d69c884e16c7676b8853318f85e4860aad34314112868dcf2be29c4afeb7ed3d6c41403148080e67fc445b7a87f2ebebf35f501b08d0');
INSERT INTO cases VALUES (2, 1, 'full', '\xb8c8dbd3cfa9af1b1b90e4c66e5a4e1d', '\x62e2083b17f4d48819a55180bb0abdcf', false, 'en', 0.005111910002597142, 2.5, '2026-01-02T03:04:05+00:00', 't-1', '["a"]', '{"nested": {"a": [1, null, 2.5]}, "text": "\u00fc\ud800\u0000", "": ""}', '\x7801d556cbb2da300cfd158f37e5cef832cebb61d765f7dd010b373137990687c64e6986e1df2b85007998d7dd35331022c9b1747474ccd261cba5aa8b8271e6c56c230a2d99b366275beb68bf4e0efa4da564272ab1cb2aa1653aa710c97169d42de56070c0c07bcf2e3c397d43b79f13f682ae5bf5f75badbe1bcb86d7e02eaf1f999c84b9ec89b0353b506d844a45512a39fb5dcbaa79a30b280a40a0baacab44ea59774787cb3ce6830b22b5c94ba5c76b9242e45b3daba4de8157e29a8085f832a98c54f8baa94f6af4e6a2386f75bebf3172cee940f7796a32ba7018fd23ab344f8ca60baa5443e1e549096fc5c4e7dc0bc3308e23ee8651103b61e43330c227862492526df2b44da30df6f8f0f299d3c64610bbcf1aba385007363199ac24c935512531f2af21a6245959a42437447c885c690349b810b9aa39df240bf25326a2d672a5d0c0393d32ba29c407a478809fb5d275253103cc09033b47b901e309635c21a0c60b14ad27623efb0a8b84d27bc82945f8078d60448a2423a79601fa17d8bc016c8daa27c8c51d50dee84273e0066ee4067ec4a3d0733ce0f44d4ca316c3967c7cfe04c0fc0e6cec45f8a11f89505f0ce00f3d2a52e88aff74ff823b8960372cfdf36cfdc3e181f82ba9c733f190d4cd88d3d8191b7d23b0f7a8fa18c917e969ab0ea719aabb43c0de7c5fd8371ada517d3cf0031efb4ee0866ee8852ed665ab77caa641fd38aa2f56681dc0ae813adfe685a86616e562a4444d2049b9059903edd2fd511b16fb1f3453d7bb5d591990932955afe27fa399753d14e0917a78d0cbb109793550e2cb51059e4e7791cc9671c61e4fccc047db74e23663717d4cdf73c164dfaafe1da2f795961422f9a549d32ab9fda87a7fef0335c1e052fa0bd54ca46678643c141a3803c6a3683d3e2df27f4b936c336ab38db4ebdee1c9a8f789c96effc24cfaefb2d3117a3caeff0128921721');
INSERT INTO cases VALUES (2, 2, 'case 3', '\x3e8aace0653c7a128c7c0c1dd8d3886a', '\x1d8563584def8301766b4d91543b1cad', false, 'en', 0.0006168690015329048, 1, NULL, NULL, NULL, '{"part": 0}', '\x7801cd55db8e9b3010fd15e49766256fe4bb71defa0f95fa90dd07973805958514432314edbf774c920db7b0dd3e2d1281cc0ce399e333c75b8ab75b8209d61aef6dee1d26cf784bc12079cf5034790e36412f360a419dedf673fe1a7d4f6d1d1d6c650f6965bddbadd135946066c629392c7ccd1916bea5ebde2e39bfa56e9232d42c542f1ffcd5c32e08bea55bc844a7615ff37cb4e0333e215f3655e2fceaf27c401b400e9040bf1be7ebac2cfc0adeaa363818e6e048729bbdf855e5fc01bc2e3804965881cbbba276454837e7753ef8339b5f17bb3e1f70745de3848ed9ae4ed18662f4c755bb2ca93ddaa0a640903d29216d2870cd4717266b2299649a49a189569c72164a2d8b7db6eb2a82cf3ae0e05b32bc04041ed3166d4e88c052591d25b6f852473f5c5497f90ebd62b4cfed4f58f804af4de19bca41b68051621b1f2a0a8e721f2a03e842bc85b2dfba03bbc6313698620a7c40b6f04757b95d007600318e9c4dd2e8bc1580eb1b186c0046dbb6cd100e03fd5fef1132dd8e0d60206b0de1e73b400215f5da7f6a08d9271be8be6beea9080642603d0ae0dcf7b2452fff00b050cf04d7c03cc0f5c6a03109df655051b443cc088bb5009ac44468a9690cd20024124471c10ce55a2b42652c03b2a1a21184131241dc9c4ddfd05d42087a9be3d8791227689cc70dbe5960526f00df68349aa9112063e2cc767e99a15e5bb333b3cc963bdd025493562f1befb3972cb7d56a46607054d6a9aba2a47c013d0281f1fdc919b63c2101a5dc68c1383594e95818014d532663a5a9914cb0980a1526e5f352c037874359d5a026d391b869fa1d0a4cf1905ac6542b41198b0d372ae0a18cd042332d24338c7f6e381626e28a467404bab86821b2afc2516e935f3e6a3b999f3f9c1e1ffbca12583c100b309cf5f5e3b4bfe9ddf044f907b52b8ad1914919357dcdebb6962822a48c8d324c2b49196c37318c6a22948c89d69c884e16c7676b8853318f85e4860aad34314112868dcf2be29c4afeb7ed3d6c41403148080e67fc445b7a87f2ebebf35f501b08d0');
INSERT INTO meta VALUES ('version', '1');
INSERT INTO rejected VALUES (1, 7, 'query', 'is null');
INSERT INTO rejected VALUES (2, 7, 'query', 'is null');
INSERT INTO runs VALUES (1, '7a920745869d5d068ab21b7d1eaa88ff', 'finished', '2026-11-27T00:10:24+00:00', '2026-11-27T00:10:25+00:00', 'a.jsonl', '81988cdd0edf944e007579256690a653', 3, '["source_precision", "fact_precision", "source_query_coverage", "response_precision", "response_query_coverage", "self_distinctness", "groundedness"]', 'fake', '{"claims": "0"}', '{"thresholds": {"groundedness": 0.7}, "rules": [], "metrics": []}', '{"python": "3.11.7", "ragtriage": "0.1.0", "onnxruntime": "1.32.0", "pydantic-ai-slim": "2.68.0"}', 0.043680930000846274, 0.25, NULL, NULL, NULL, 1795738225.0021572, 0, 12345, 0, 0, NULL);
INSERT INTO runs VALUES (2, '622ac21ed7204093b861b5a01a755ade', 'interrupted', '2026-11-27T00:10:25+00:00', '2026-11-27T00:10:25+00:00', 'a.jsonl', '81988cdd0edf944e007579256690a653', 3, '["source_precision", "fact_precision", "source_query_coverage", "response_precision", "response_query_coverage", "self_distinctness", "groundedness"]', 'fake', '{"claims": "1"}', '{"thresholds": {"groundedness": 0.7}, "rules": [], "metrics": []}', '{"python": "3.11.7", "ragtriage": "0.1.0", "onnxruntime": "1.32.0", "pydantic-ai-slim": "2.68.0"}', 0.020770854000147665, 0.25, NULL, NULL, NULL, 1795738225.0378122, 0, 12345, 0, 0, NULL);
INSERT INTO scores VALUES (1, 'source_precision', 0, 0, NULL, false, 1, 1);
INSERT INTO scores VALUES (1, 'fact_precision', 0, 0, NULL, false, 5, 0);
INSERT INTO scores VALUES (1, 'source_query_coverage', 0, 1, NULL, false, 2, 0);
INSERT INTO scores VALUES (1, 'response_precision', 0, 0.3333333333333333, NULL, false, 3, 0);
INSERT INTO scores VALUES (1, 'response_query_coverage', 0, 1, NULL, false, 1, 1);
INSERT INTO scores VALUES (1, 'self_distinctness', 0, 0.6666666666666666, NULL, false, 3, 0);
INSERT INTO scores VALUES (1, 'groundedness', 0, 0.3333333333333333, NULL, false, 3, 0);
INSERT INTO scores VALUES (1, 'source_precision', 2, 0, NULL, false, 1, 1);
INSERT INTO scores VALUES (1, 'fact_precision', 2, 0, NULL, false, 5, 0);
INSERT INTO scores VALUES (1, 'source_query_coverage', 2, 1, NULL, false, 2, 0);
INSERT INTO scores VALUES (1, 'response_precision', 2, 0.3333333333333333, NULL, false, 3, 0);
INSERT INTO scores VALUES (1, 'response_query_coverage', 2, 1, NULL, false, 1, 1);
INSERT INTO scores VALUES (1, 'self_distinctness', 2, 0.6666666666666666, NULL, false, 3, 0);
INSERT INTO scores VALUES (1, 'groundedness', 2, 0.3333333333333333, NULL, false, 3, 0);
INSERT INTO scores VALUES (1, 'source_precision', 1, 0.3333333333333333, NULL, false, 3, 0);
INSERT INTO scores VALUES (1, 'fact_precision', 1, 0.5, NULL, false, 4, 0);
INSERT INTO scores VALUES (1, 'source_query_coverage', 1, 1, NULL, false, 2, 0);
INSERT INTO scores VALUES (1, 'response_precision', 1, 1, NULL, false, 2, 0);
INSERT INTO scores VALUES (1, 'response_query_coverage', 1, 0.5, NULL, false, 2, 0);
INSERT INTO scores VALUES (1, 'self_distinctness', 1, 0, NULL, false, 2, 0);
INSERT INTO scores VALUES (1, 'groundedness', 1, NULL, 'the judge could not tell for any of 2', false, NULL, NULL);
INSERT INTO scores VALUES (2, 'source_precision', 0, 0, NULL, false, 1, 1);
INSERT INTO scores VALUES (2, 'fact_precision', 0, 0, NULL, false, 5, 0);
INSERT INTO scores VALUES (2, 'source_query_coverage', 0, 1, NULL, false, 2, 0);
INSERT INTO scores VALUES (2, 'response_precision', 0, 0.3333333333333333, NULL, false, 3, 0);
INSERT INTO scores VALUES (2, 'response_query_coverage', 0, 1, NULL, false, 1, 1);
INSERT INTO scores VALUES (2, 'self_distinctness', 0, 0.6666666666666666, NULL, false, 3, 0);
INSERT INTO scores VALUES (2, 'groundedness', 0, 0.3333333333333333, NULL, false, 3, 0);
INSERT INTO scores VALUES (2, 'source_precision', 1, 0.3333333333333333, NULL, false, 3, 0);
INSERT INTO scores VALUES (2, 'fact_precision', 1, 0.5, NULL, false, 4, 0);
INSERT INTO scores VALUES (2, 'source_query_coverage', 1, 1, NULL, false, 2, 0);
INSERT INTO scores VALUES (2, 'response_precision', 1, 1, NULL, false, 2, 0);
INSERT INTO scores VALUES (2, 'response_query_coverage', 1, 0.5, NULL, false, 2, 0);
INSERT INTO scores VALUES (2, 'self_distinctness', 1, 0, NULL, false, 2, 0);
INSERT INTO scores VALUES (2, 'groundedness', 1, NULL, 'the judge could not tell for any of 2', false, NULL, NULL);
INSERT INTO scores VALUES (2, 'source_precision', 2, 0, NULL, false, 1, 1);
INSERT INTO scores VALUES (2, 'fact_precision', 2, 0, NULL, false, 5, 0);
INSERT INTO scores VALUES (2, 'source_query_coverage', 2, 1, NULL, false, 2, 0);
INSERT INTO scores VALUES (2, 'response_precision', 2, 0.3333333333333333, NULL, false, 3, 0);
INSERT INTO scores VALUES (2, 'response_query_coverage', 2, 1, NULL, false, 1, 1);
INSERT INTO scores VALUES (2, 'self_distinctness', 2, 0.6666666666666666, NULL, false, 3, 0);
INSERT INTO scores VALUES (2, 'groundedness', 2, 0.3333333333333333, NULL, false, 3, 0);
INSERT INTO texts VALUES ('\x19bd6662471eeab58085bbf9a63b532f', 'What is the price of the ticket number 0?');
INSERT INTO texts VALUES ('\xe23322231f8c2ee2f57c9042764a685a', 'The price of it is six euros. The ticket number 0 is valid for the day.');
INSERT INTO texts VALUES ('\xdb7c3841753e47bc341f6c5c96c2519f', 'The price of the ticket number 0 is six euros. It is valid until the evening.');
INSERT INTO texts VALUES ('\xe984fb197b6e2ba032ef551e0a753110', 'All of the dogs travel for free if they sit on a lap.');
INSERT INTO texts VALUES ('\xee3efaed9e2cf221feacb46edb439072', 'What is the price of the ticket number 3?');
INSERT INTO texts VALUES ('\x9c26df356f8a4bddc79d21b98be30520', 'The price of it is six euros. The ticket number 3 is valid for the day.');
INSERT INTO texts VALUES ('\xed5f4cf189c84ba1866315fabad91322', 'The price of the ticket number 3 is six euros. It is valid until the evening.');
INSERT INTO texts VALUES ('\x3ddf6d0706181669233674420a23a1b9', 'And what is the price of the other one?');
INSERT INTO texts VALUES ('\xe3b13e7030153b847667ab868b0b7301', '\"\\It is nine (a)."');
INSERT INTO texts VALUES ('\x96ce86c66ad3e8dfc8cff8e8ff0d4c77', 'Nine.');
INSERT INTO texts VALUES ('\x99cbc0b29976a6366c57b1f1574f803b', '\"The price of the other one is \u0000 nine."');
INSERT INTO texts VALUES ('\xcae66941d9efbd404e4d88758ea67670', '');
INSERT INTO texts VALUES ('\xf254bcd9e4a0be18cc4b06e3e796daf5', '\"The \ud800 odd."');
INSERT INTO texts VALUES ('\xa2225f0223a6d546b85938bd38e4a32b', 'What is the price?');
INSERT INTO texts VALUES ('\x97e0e7c25294b3852245e2a69850b0f7', 'It is six.');
INSERT INTO texts VALUES ('\x578731368a0da8320475fe4d6afcee64', 'It is nine.');
INSERT INTO texts VALUES ('\x6e8bc2df1d80dafb5f6dc0ce6f006335', 'It is ten.');
INSERT INTO texts VALUES ('\xb9fec5ecda43ab5b815b1f03138cf9d7', '\"\\((a)\\)"');
INSERT INTO tickets VALUES ('\x6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b', '', 'batch', 1795738225.0403516);
SELECT pg_catalog.setval('runs_number_seq', 2, true);
ALTER TABLE ONLY answers
    ADD CONSTRAINT answers_pkey PRIMARY KEY (key);
ALTER TABLE ONLY case_texts
    ADD CONSTRAINT case_texts_pkey PRIMARY KEY (run, "position", role, ordinal);
ALTER TABLE ONLY cases
    ADD CONSTRAINT cases_pkey PRIMARY KEY (run, "position");
ALTER TABLE ONLY cases
    ADD CONSTRAINT cases_run_id_digest_key UNIQUE (run, id_digest);
ALTER TABLE ONLY claims
    ADD CONSTRAINT claims_pkey PRIMARY KEY (key);
ALTER TABLE ONLY meta
    ADD CONSTRAINT meta_pkey PRIMARY KEY (key);
ALTER TABLE ONLY rejected
    ADD CONSTRAINT rejected_pkey PRIMARY KEY (run, "row", field);
ALTER TABLE ONLY runs
    ADD CONSTRAINT runs_pkey PRIMARY KEY (number);
ALTER TABLE ONLY scores
    ADD CONSTRAINT scores_pkey PRIMARY KEY (run, metric, "position");
ALTER TABLE ONLY texts
    ADD CONSTRAINT texts_pkey PRIMARY KEY (hash);
ALTER TABLE ONLY tickets
    ADD CONSTRAINT tickets_pkey PRIMARY KEY (key);
CREATE INDEX cases_failed ON cases USING btree (run, failed);
CREATE INDEX ix_claims_owner ON claims USING btree (owner);
CREATE INDEX ix_runs_identity ON runs USING btree (identity);
ALTER TABLE ONLY case_texts
    ADD CONSTRAINT case_texts_run_fkey FOREIGN KEY (run) REFERENCES runs(number) ON DELETE CASCADE;
ALTER TABLE ONLY cases
    ADD CONSTRAINT cases_run_fkey FOREIGN KEY (run) REFERENCES runs(number) ON DELETE CASCADE;
ALTER TABLE ONLY rejected
    ADD CONSTRAINT rejected_run_fkey FOREIGN KEY (run) REFERENCES runs(number) ON DELETE CASCADE;
ALTER TABLE ONLY scores
    ADD CONSTRAINT scores_run_fkey FOREIGN KEY (run) REFERENCES runs(number) ON DELETE CASCADE;
