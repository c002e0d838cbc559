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
    "position" bigint NOT NULL,
    role text NOT NULL,
    ordinal integer NOT NULL,
    label text,
    hash bytea
);
CREATE TABLE cases (
    run integer NOT NULL,
    "position" bigint NOT NULL,
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
CREATE TABLE readings (
    run integer NOT NULL,
    "position" bigint NOT NULL,
    kind text NOT NULL,
    component text NOT NULL,
    rules text NOT NULL,
    sure boolean NOT NULL,
    head text
);
CREATE TABLE rejected (
    run integer NOT NULL,
    "row" bigint NOT NULL,
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
    tokens_in bigint NOT NULL,
    tokens_out bigint NOT NULL,
    trial integer NOT NULL,
    repeats integer,
    project text DEFAULT ''::text NOT NULL,
    author text
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
    "position" bigint NOT NULL,
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
INSERT INTO answers VALUES ('\x003e52af3693ece0fc905d3e1b239360', 'essential', 'fake:essential:1', 0, '["no",0.028741328047571853,0.30000000000000004,"",false]', 1795948762.5903022, NULL);
INSERT INTO answers VALUES ('\x131ee9118b4297e5fc46d955934bce98', 'essential', 'fake:essential:1', 0, '["no",0.10604558969276512,0.30000000000000004,"",false]', 1795948762.5903022, NULL);
INSERT INTO answers VALUES ('\x1c9ae040086cb892d9c59e112e0b23ff', 'facts', 'fake:facts:1', 0, '[[["The price of the ticket number 0 is six euros.",[0,46],null,false],["It is valid until the evening.",[47,77],null,false],["The paraphrased.",null,null,false]]]', 1795948762.5903022, NULL);
INSERT INTO answers VALUES ('\x286e9d27b403ffe463a9c446fadd3572', 'similarity', 'fake:similarity:1', 0, '["no",0.12586719524281467,0.30000000000000004,"",false]', 1795948762.5903022, NULL);
INSERT INTO answers VALUES ('\x29b30c6ec887a7cd5582c81d1b1ee691', 'supported', 'fake:supported:1', 0, '["no",0.1694747274529237,0.30000000000000004,"",false]', 1795948762.5903022, NULL);
INSERT INTO answers VALUES ('\x4cc233ad53e0e5845831a6d233cd37ea', 'claims', 'fake:claims:1', 0, '[[["The price of it is six euros.",[0,29],null,false],["The ticket number 0 is valid for the day.",[30,71],null,false],["The paraphrased.",null,null,false]]]', 1795948762.5903022, NULL);
INSERT INTO answers VALUES ('\x50e39fd3dbf941f158379547e3690cf2', 'answered', 'fake:answered:1', 0, '["yes",0.9,0.7,"\u00fc: because\n\u0000",true]', 1795948762.5903022, NULL);
INSERT INTO answers VALUES ('\x542b72701d2db4449c6b78e4d574e4da', 'similarity', 'fake:similarity:1', 0, '["no",0.11397423191278494,0.30000000000000004,"",false]', 1795948762.5903022, NULL);
INSERT INTO answers VALUES ('\x6fcc5ff00b2c47da6f515005ffdf1e27', 'essential', 'fake:essential:1', 0, '["no",0.05252725470763132,0.30000000000000004,"",false]', 1795948762.5903022, NULL);
INSERT INTO answers VALUES ('\x75d82fe472acf1d7e21910028d99452f', 'facts', 'fake:facts:1', 0, '[[["All of the dogs travel for free if they sit on a lap.",[0,53],null,false],["All paraphrased.",null,null,false]]]', 1795948762.5903022, NULL);
INSERT INTO answers VALUES ('\x7b2f7fe57c928fbe43eb8458701dd8e8', 'essential', 'fake:essential:1', 0, '["no",0.12190287413280476,0.30000000000000004,"",false]', 1795948762.5903022, NULL);
INSERT INTO answers VALUES ('\x88d451dae4fe4858919c83f5f5bc7e9a', 'sentences', 'fake:sentences:1', 0, '[[["The price of it is six euros.",[0,29],null,false],["The ticket number 0 is valid for the day.",[30,71],null,false],["The paraphrased.",null,null,false]]]', 1795948762.5903022, NULL);
INSERT INTO answers VALUES ('\x8d542cd01bd6ef7c60aca527dfa56925', 'essential', 'fake:essential:1', 0, '["unknown",0.3333333333333333,null,"it can''t be told",true]', 1795948762.5903022, NULL);
INSERT INTO answers VALUES ('\xa034730d288c955ec42356b84b2ffac4', 'supported', 'fake:supported:1', 0, '["no",0.15758176412289396,0.30000000000000004,"",false]', 1795948762.5903022, NULL);
INSERT INTO answers VALUES ('\xa87f36e958110c7b76eb856cf0c6cd03', 'essential', 'fake:essential:1', 0, '["no",0.040634291377601585,0.30000000000000004,"",false]', 1795948762.5903022, NULL);
INSERT INTO answers VALUES ('\xac4b4b000a705cbb1b1a312480c4a865', 'essential', 'fake:essential:1', 0, '["no",0.06838453914767097,0.30000000000000004,"",false]', 1795948762.5903022, NULL);
INSERT INTO answers VALUES ('\xb453cbf17c50c3aeea9b975417be7a67', 'essential', 'fake:essential:1', 0, '["no",0.09217046580773043,0.30000000000000004,"",false]', 1795948762.5903022, NULL);
INSERT INTO answers VALUES ('\xb6fc95f2017ab66ffe8a98b596cb4b33', 'answered', 'fake:answered:1', 0, '["yes",0.9,0.7,"\u00fc: because\n\u0000",true]', 1795948762.5903022, NULL);
INSERT INTO answers VALUES ('\xc0466f40da1bc783f70d4a741381400b', 'answered', 'fake:answered:1', 0, '["yes",0.9,0.7,"\u00fc: because\n\u0000",true]', 1795948762.5903022, NULL);
INSERT INTO answers VALUES ('\xc3041276be91e5de2f834e7d75a0d223', 'questions', 'fake:questions:1', 0, '[[["What is the price of the ticket number 0?",[0,41],null,false],["What paraphrased.",null,null,false]]]', 1795948762.5903022, NULL);
INSERT INTO answers VALUES ('\xc98ff97545548a8252db6a012b757fbd', 'answered', 'fake:answered:1', 0, '["unknown",0.3333333333333333,null,"it can''t be told",true]', 1795948762.5903022, NULL);
INSERT INTO answers VALUES ('\xce95535400bf334701fd4ccde3306162', 'similarity', 'fake:similarity:1', 0, '["yes",0.9,0.7,"\u00fc: because\n\u0000",true]', 1795948762.5903022, NULL);
INSERT INTO answers VALUES ('\xe6e5f53c8399af365500ee3b765a4ada', 'essential', 'fake:essential:1', 0, '["yes",0.9,0.7,"\u00fc: because\n\u0000",true]', 1795948762.5903022, NULL);
INSERT INTO answers VALUES ('\xf827be0ba758482810898cc84d2f3214', 'supported', 'fake:supported:1', 0, '["yes",0.9,0.7,"\u00fc: because\n\u0000",true]', 1795948762.5903022, NULL);
INSERT INTO answers VALUES ('\xf9ddafff28c604d5af776798e71eb20f', 'answered', 'fake:answered:1', 0, '["yes",0.9,0.7,"\u00fc: because\n\u0000",true]', 1795948762.5903022, NULL);
INSERT INTO answers VALUES ('\xfc226addb360a82c4f153273a3409b7e', 'answered', 'fake:answered:1', 0, '["unknown",0.3333333333333333,null,"it can''t be told",true]', 1795948762.5903022, NULL);
INSERT INTO case_texts VALUES (1, 0, 'query', 0, NULL, '\x19bd6662471eeab58085bbf9a63b532f');
INSERT INTO case_texts VALUES (1, 0, 'response', 0, NULL, '\xe23322231f8c2ee2f57c9042764a685a');
INSERT INTO case_texts VALUES (1, 0, 'source', 0, 'doc 0', '\xdb7c3841753e47bc341f6c5c96c2519f');
INSERT INTO case_texts VALUES (1, 0, 'source', 1, NULL, '\xe984fb197b6e2ba032ef551e0a753110');
INSERT INTO case_texts VALUES (1, 1, 'citation mark', 0, NULL, '\xb9fec5ecda43ab5b815b1f03138cf9d7');
INSERT INTO case_texts VALUES (1, 1, 'history', 0, 'user', '\xa2225f0223a6d546b85938bd38e4a32b');
INSERT INTO case_texts VALUES (1, 1, 'history', 1, 'assistant', '\x97e0e7c25294b3852245e2a69850b0f7');
INSERT INTO case_texts VALUES (1, 1, 'query', 0, NULL, '\x3ddf6d0706181669233674420a23a1b9');
INSERT INTO case_texts VALUES (1, 1, 'reference', 0, NULL, '\x96ce86c66ad3e8dfc8cff8e8ff0d4c77');
INSERT INTO case_texts VALUES (1, 1, 'response', 0, NULL, '\xe3b13e7030153b847667ab868b0b7301');
INSERT INTO case_texts VALUES (1, 1, 'sample', 0, NULL, '\x578731368a0da8320475fe4d6afcee64');
INSERT INTO case_texts VALUES (1, 1, 'sample', 1, NULL, '\x6e8bc2df1d80dafb5f6dc0ce6f006335');
INSERT INTO case_texts VALUES (1, 1, 'source', 0, 'a', '\x99cbc0b29976a6366c57b1f1574f803b');
INSERT INTO case_texts VALUES (1, 1, 'source', 1, NULL, '\xcae66941d9efbd404e4d88758ea67670');
INSERT INTO case_texts VALUES (1, 1, 'source', 2, '', '\xf254bcd9e4a0be18cc4b06e3e796daf5');
INSERT INTO case_texts VALUES (1, 2, 'query', 0, NULL, '\xee3efaed9e2cf221feacb46edb439072');
INSERT INTO case_texts VALUES (1, 2, 'response', 0, NULL, '\x9c26df356f8a4bddc79d21b98be30520');
INSERT INTO case_texts VALUES (1, 2, 'source', 0, 'doc 3', '\xed5f4cf189c84ba1866315fabad91322');
INSERT INTO case_texts VALUES (1, 2, 'source', 1, NULL, '\xe984fb197b6e2ba032ef551e0a753110');
INSERT INTO case_texts VALUES (2, 0, 'query', 0, NULL, '\x19bd6662471eeab58085bbf9a63b532f');
INSERT INTO case_texts VALUES (2, 0, 'response', 0, NULL, '\xe23322231f8c2ee2f57c9042764a685a');
INSERT INTO case_texts VALUES (2, 0, 'source', 0, 'doc 0', '\xdb7c3841753e47bc341f6c5c96c2519f');
INSERT INTO case_texts VALUES (2, 0, 'source', 1, NULL, '\xe984fb197b6e2ba032ef551e0a753110');
INSERT INTO case_texts VALUES (2, 2, 'query', 0, NULL, '\xee3efaed9e2cf221feacb46edb439072');
INSERT INTO case_texts VALUES (2, 2, 'response', 0, NULL, '\x9c26df356f8a4bddc79d21b98be30520');
INSERT INTO case_texts VALUES (2, 2, 'source', 0, 'doc 3', '\xed5f4cf189c84ba1866315fabad91322');
INSERT INTO case_texts VALUES (2, 2, 'source', 1, NULL, '\xe984fb197b6e2ba032ef551e0a753110');
INSERT INTO cases VALUES (1, 0, 'case 0', '\x4f0b0ef50e744c6806bc3a8ec7c1c6cc', '\xaf1d4189d8214aa161461380a832eea1', false, 'en', 0.052016292000189424, 1, NULL, NULL, NULL, '{"part": 0}', '\x7801d555db8e9b3010fd15e49766256fe4bb71defa0f95fa90dd07973805958514432314edbf774cc286db26dd3eb5480432338c678ecf196f29de6e0926586bbcb7b977983ce32d0583e40343d1e439d804bdd8280475b6ebcff96bf435b57574b0953da495f56eb7467d28c1cc4c537258b8cf1916bea6ebde2e39bfa46e9632d42cd4201ffcd5e32e08bea6bb9189cec33ee7f964c1677c42be6caac4f9d5e5f98036801c20817e36ced75959f815bc556d7030ccc191e4367bf1abcaf903785d70082cb102977745ed8a906ec9eb7cf06736ef17eb9f0f38ead738a163b6ab53b4a118fd72d52e4b6a8f36a82910644f4a481b0a5cf3c985c99a482699665268a215a79c8552cb629fedba8ae0b30e38f8968c2f0181c7b4459b1322b0545647892d3ed5d13717d565be43af18ed73fb1d163ec16b53f8a672902d6094d8c6878a82a3dc87ca00ba106fa1ecb7eec0ae718c0da698021f902dfcd1556e17801d418c236793343a6f05e0fa06061b81d1b66d3386c340fffd3d41a6dbb1110c64ad21fc7c0748a0a241fb4f0d21fb6403dd77cd3d15c14008ac47019cf7bdeca6977f0058a867866b601ee07a65d0948477195414ed1833c2622d802631115a6a1ac368001209a2b8608672ad15a1329601d950d104c21989206ec9a6afe8de42087a5be2d859893334ce72836f6e306920c0371a4d343501644a9cc5ce2f1a1ab4b5a899db6c79a75b806ad6ea65e37df692e5b65a2d0c181c9575eaaa28295f601ec180f143e58c5b9e9180526eb4609c1aca742c8c80a62993b1d2d44826584c850a4af92f29d08ff4e808f8b8e80659866327ca6df2c3476d37d796a7f1e3e3504a61db46ea00c379a07c7c9faf021f8fd03f9077514cce08caa8198a5c85bd258a082963a30cd34a5206366218d544281913ad3911dd1c981e26214ec53c16921b2ab4d2c4040d8c1b5f1e014b63e1af6df7b08589814133381c6a33310d4e21d81adf1c0e6555c339341fa63d750667d03d25492d63aa95a08cc5869b0e6d6584169a69219961fc5f16d2ebf36f278d08d0');
INSERT INTO cases VALUES (1, 1, 'full', '\xb8c8dbd3cfa9af1b1b90e4c66e5a4e1d', '\x62e2083b17f4d48819a55180bb0abdcf', false, 'en', 0.0025688690002425574, 2.5, '2026-01-02T03:04:05+00:00', 't-1', '["a"]', '{"nested": {"a": [1, null, 2.5]}, "text": "\u00fc\ud800\u0000", "": ""}', '\x7801d5564b8fda3010fe2b962f65252f72de0db71e7bef0d38b889d9440d0e8d9d5284f6bf77c604c8c3cb636f8d042133e378e69b6f3eb3f4d872a9daaa629c0529db884a4be6add9c9661df6ebe4a0df544e76a211bba2115ae6730a911c9726dd520e060f0cbcf7ecc393d73774fb79712fe8ba557fbfd5eabb716c780deef2fa51c84998cf1e085bb323d546a85c54b592b3dfad6c0e2f740145010854d76d93493debeee8f059c0427041a43665adf4784d568972ab678dd43bf04a5c13b1185f2695910a5f37f5498dde5254e7adcef71746ce391de9becc4d41171ea37f64939799d17441953a50787956c35b31f1390fe2384ed384fb7112a55e9c840c8cf0492189ac569b32b769d8e0800faf9079363681d87d71a08b23f5601353c846925213551323ff1a626a52d4554e4a43c49b28953690840f91ab96f34db6203f65265a2d570a0d9cd3774637957883148ff0b355ba6d246680396160e7a837603c618c2b04d47881c27a1216b2afb04828bd879c72847fd00846a4c80a726a19a07f812d18c07650ed04b9b4032a185d688efcc84ffc284c7812075e009cfe10d3c46268c9c7e70f00cc6fc0c69e841ffa9109f5c500fed0a32a87ae840ff72fba910876c3d1bfc0d53f1c1e88bf927a3c1377497d18711a3be3a26f02f61e55ef23f9243d5dd5e13443753708d89bef0bfb46433baa8f4761c4d3d08bfcd88f83d8c7ba5cf54ed934a81f47f5c90a9d03d8355097dbb212cdcca15c8cd4a80924abb72073a05dba3f6ac362ffef669eb59fecad06de687b5f774825b25f9a1cacaeb985fbf5b5afdbc8b4813683e124c0c035d7e4e182b1704e066f28a077c70e14714c4ce761e210c38f26d4c558976d34c9b78e1246834ff0dc1ee813c47c763a500064ddee767563e04899cad59904bde364c8f1b6ed3713647f74c13c8f2c5639071dbffc5db9b49ea2a039241de77c627e822756c2ded7ff0016d21721');
INSERT INTO cases VALUES (1, 2, 'case 3', '\x3e8aace0653c7a128c7c0c1dd8d3886a', '\x1d8563584def8301766b4d91543b1cad', false, 'en', 0.0021206189994700253, 1, NULL, NULL, NULL, '{"part": 0}', '\x7801d555db8e9b3010fd15e49766256fe4bb71defa0f95fa90dd07973805958514432314edbf774cc286db26dd3eb5480432338c678ecf196f29de6e0926586bbcb7b977983ce32d0583e40343d1e439d804bdd8280475b6ebcff96bf435b57574b0953da495f56eb7467d28c1cc4c537258b8cf1916bea6ebde2e39bfa46e9632d42cd4201ffcd5e32e08bea6bb9189cec33ee7f964c1677c42be6caac4f9d5e5f98036801c20817e36ced75959f815bc556d7030ccc191e4367bf1abcaf903785d70082cb102977745ed8a906ec9eb7cf06736ef17eb9f0f38ead738a163b6ab53b4a118fd72d52e4b6a8f36a82910644f4a481b0a5cf3c985c99a482699665268a215a79c8552cb629fedba8ae0b30e38f8968c2f0181c7b4459b1322b0545647892d3ed5d13717d565be43af18ed73fb1d163ec16b53f8a672902d6094d8c6878a82a3dc87ca00ba106fa1ecb7eec0ae718c0da698021f902dfcd1556e17801d418c236793343a6f05e0fa06061b81d1b66d3386c340fffd3d41a6dbb1110c64ad21fc7c0748a0a241fb4f0d21fb6403dd77cd3d15c14008ac47019cf7bdeca6977f0058a867866b601ee07a65d0948477195414ed1833c2622d802631115a6a1ac368001209a2b8608672ad15a1329601d950d104c21989206ec9a6afe8de42087a5be2d859893334ce72836f6e306920c0371a4d343501644a9cc5ce2f1a1ab4b5a899db6c79a75b806ad6ea65e37df692e5b65a2d0c181c9575eaaa28295f601ec180f143e58c5b9e9180526eb4609c1aca742c8c80a62993b1d2d44826584c850a4af92f29d08ff4e808f8b8e80659866327ca6df2c3476d37d796a7f1e3e3504a61db46ea00c379a07c7c9faf021f8fd03f9077514cce08caa8198a5c85bd258a082963a30cd34a5206366218d544281913ad3911dd1c981e26214ec53c16921b2ab4d2c4040d8c1b5f1e014b63e1af6df7b08589814133381c6a33310d4e21d81adf1c0e6555c339341fa63d750667d03d25492d63aa95a08cc5869b0e6d6584169a69219961fc5f16d2ebf36f278d08d0');
INSERT INTO cases VALUES (2, 0, 'case 0', '\x4f0b0ef50e744c6806bc3a8ec7c1c6cc', '\xaf1d4189d8214aa161461380a832eea1', false, 'en', 0.005168788999981189, 1, NULL, NULL, NULL, '{"part": 0}', '\x7801d555db8e9b3010fd15e49766256fe4bb71defa0f95fa90dd07973805958514432314edbf774cc286db26dd3eb5480432338c678ecf196f29de6e0926586bbcb7b977983ce32d0583e40343d1e439d804bdd8280475b6ebcff96bf435b57574b0953da495f56eb7467d28c1cc4c537258b8cf1916bea6ebde2e39bfa46e9632d42cd4201ffcd5e32e08bea6bb9189cec33ee7f964c1677c42be6caac4f9d5e5f98036801c20817e36ced75959f815bc556d7030ccc191e4367bf1abcaf903785d70082cb102977745ed8a906ec9eb7cf06736ef17eb9f0f38ead738a163b6ab53b4a118fd72d52e4b6a8f36a82910644f4a481b0a5cf3c985c99a482699665268a215a79c8552cb629fedba8ae0b30e38f8968c2f0181c7b4459b1322b0545647892d3ed5d13717d565be43af18ed73fb1d163ec16b53f8a672902d6094d8c6878a82a3dc87ca00ba106fa1ecb7eec0ae718c0da698021f902dfcd1556e17801d418c236793343a6f05e0fa06061b81d1b66d3386c340fffd3d41a6dbb1110c64ad21fc7c0748a0a241fb4f0d21fb6403dd77cd3d15c14008ac47019cf7bdeca6977f0058a867866b601ee07a65d0948477195414ed1833c2622d802631115a6a1ac368001209a2b8608672ad15a1329601d950d104c21989206ec9a6afe8de42087a5be2d859893334ce72836f6e306920c0371a4d343501644a9cc5ce2f1a1ab4b5a899db6c79a75b806ad6ea65e37df692e5b65a2d0c181c9575eaaa28295f601ec180f143e58c5b9e9180526eb4609c1aca742c8c80a62993b1d2d44826584c850a4af92f29d08ff4e808f8b8e80659866327ca6df2c3476d37d796a7f1e3e3504a61db46ea00c379a07c7c9faf021f8fd03f9077514cce08caa8198a5c85bd258a082963a30cd34a5206366218d544281913ad3911dd1c981e26214ec53c16921b2ab4d2c4040d8c1b5f1e014b63e1af6df7b08589814133381c6a33310d4e21d81adf1c0e6555c339341fa63d750667d03d25492d63aa95a08cc5869b0e6d6584169a69219961fc5f16d2ebf36f278d08d0');
INSERT INTO cases VALUES (2, 2, 'case 3', '\x3e8aace0653c7a128c7c0c1dd8d3886a', '\x1d8563584def8301766b4d91543b1cad', true, 'en', 0.008010964999812131, 1, NULL, NULL, NULL, '{"part": 0}', '\x7801d555cb6edb3010fc1595973a0063f04dd1b7fe43811e9c1c58998e852a942b4a350c23ffdea56cc57ac5497aab0059f22eb5dc1deeccae295eaf0926586bbcb54570983ce2350583e43d836f8a026c825e6c1416b5b6ebcff96bf46367eb646f2bbbdf5536b8cd12754b0966661c92c3c65dccb8f1355cfb7689f97de7262163ce42f5e2c15f3dac82e06bb81b91e874d9b7a2186df8884f28944d95b9b0b83cefd00a900324d0efc6853a2f7d58c05b758c0e863938b2c2e6cf6151b9b007af8b0e812556e00aced7cec770735e17a23fb745b759f7bcc349b7c7091df24dbd432b8ad11f576df2ac0e68851a8f207a5642d898e0928f2e4c964432c934934213ad38e52ca65afa6dbe693382cf5ae0e05b32bc042c3cec8e68754204b6caeb24b3fe6b9dfc74495d161bf482d1b6b04fb0f1095e1b1f9aca41b48851669b10338a8e721b3303e8e27a0b69bf5607768d536c30c514fa01591f0eae729b08ec00629c389bed92f35100aeaf60b00118c7e3b119c261a0feee1e21d39ed80006b2d4b0fc7c474820a35ef90f0d21db6c05d5b7c53df8682004f6a300cedb5e76d3cb3f012ce433c135761ee07aeda07113bedb41de1f879811966a016d9212a1a5a62948033491208a0b6628d75a112a5319918d198d209c3411ac9bb3e92bbab71082dae67aecccc4091a67bac137373aa947c0d7361a716a04c8b871662bbf70a857d62c676e77cb1bd5025493522f071ff2e7bcb0d56246607052d63b572559f90c7a040213facc19963c69024ab9d182716a28d3a930028aa64ca64a5323996029152a32e5bf6c814ed29303e0e3921bcdd2979da4b0d9af901c5b5d9b57e3fbfb3e95e2b10dd80186b3a07cfe9caf041f4ae807e8edfd684650464d9fe42a9e2d514448991a6598569232b011c3a82642c99468cd896875603c4ce23a95f254486ea8d04a131339302c7c5e02e664e19f6def610b8a818133380eb509997a53088e2634fb7d59d53087a662dab54e6f068d98f465a41e546a9952ad04652c35dc44b43fca9a9e9adc1a3290f3ac48f64b6da7545d964951faa738badbb17c11cc97c7bf184304a0');
INSERT INTO meta VALUES ('version', '2');
INSERT INTO readings VALUES (1, 0, 'failure', 'prompt or generator', '["unsupported_claims", "loose_sources"]', false, 'What is the price of the ticket number 0?');
INSERT INTO readings VALUES (1, 1, 'failure', 'prompt or generator', '["unused_information", "repetition", "loose_sources"]', false, 'And what is the price of the other one?');
INSERT INTO readings VALUES (1, 2, 'failure', 'prompt or generator', '["unsupported_claims", "loose_sources"]', false, 'What is the price of the ticket number 3?');
INSERT INTO readings VALUES (2, 0, 'failure', 'prompt or generator', '["unsupported_claims", "loose_sources"]', false, 'What is the price of the ticket number 0?');
INSERT INTO readings VALUES (2, 2, 'low-score', 'none', '["loose_sources"]', true, 'What is the price of the ticket number 3?');
INSERT INTO rejected VALUES (1, 7, 'query', 'is null');
INSERT INTO rejected VALUES (2, 7, 'query', 'is null');
INSERT INTO runs VALUES (1, 'dc94d6104233b6d8a361d6d87f4c8afc', 'finished', '2026-11-29T10:39:22+00:00', '2026-11-29T10:39:22+00:00', 'a.jsonl', '81988cdd0edf944e007579256690a653', 3, '["source_precision", "fact_precision", "source_query_coverage", "response_precision", "response_query_coverage", "self_distinctness", "groundedness"]', 'fake', '{"claims": "2"}', '{"thresholds": {"source_precision": 0.5, "fact_precision": 0.1, "source_query_coverage": 0.75, "response_precision": 0.5, "response_query_coverage": 0.75, "self_distinctness": 0.75, "groundedness": 0.8, "hallucination": 0.2, "claim_relevancy": 0.75, "relevant_noise_sensitivity": 0.25, "irrelevant_noise_sensitivity": 0.25, "citation_groundedness": 0.8, "citation_recall": 0.5, "citation_precision": 0.75, "answer_precision": 0.75, "answer_recall": 0.75, "answer_f1": 0.75, "context_recall": 0.75, "self_consistency": 0.75, "sample_agreement": 0.75, "retrieval_recall": 0.75, "retrieval_mrr": 0.5, "retrieval_ndcg": 0.5}, "rules": [], "metrics": [], "selection": {"limit": null, "sample": null, "seed": 0}, "mapping": {}}', '{"python": "3.11.7", "ragtriage": "0.1.0", "onnxruntime": "1.32.0", "pydantic-ai-slim": "2.68.0"}', 0.19132340099986322, 0.25, NULL, NULL, NULL, 1795948762.482513, 7, 3000000000, 45, 0, NULL, 'shop', 'postgres');
INSERT INTO runs VALUES (2, '622ac21ed7204093b861b5a01a755ade', 'interrupted', '2026-11-29T10:39:22+00:00', '2026-11-29T10:39:22+00:00', 'a.jsonl', '81988cdd0edf944e007579256690a653', 3, '["source_precision", "fact_precision", "source_query_coverage", "response_precision", "response_query_coverage", "self_distinctness", "groundedness"]', 'fake', '{"claims": "1"}', '{"thresholds": {"source_precision": 0.5, "fact_precision": 0.1, "source_query_coverage": 0.75, "response_precision": 0.5, "response_query_coverage": 0.75, "self_distinctness": 0.75, "groundedness": 0.8, "hallucination": 0.2, "claim_relevancy": 0.75, "relevant_noise_sensitivity": 0.25, "irrelevant_noise_sensitivity": 0.25, "citation_groundedness": 0.8, "citation_recall": 0.5, "citation_precision": 0.75, "answer_precision": 0.75, "answer_recall": 0.75, "answer_f1": 0.75, "context_recall": 0.75, "self_consistency": 0.75, "sample_agreement": 0.75, "retrieval_recall": 0.75, "retrieval_mrr": 0.5, "retrieval_ndcg": 0.5}, "rules": [], "metrics": [], "selection": {"limit": null, "sample": null, "seed": 0}, "mapping": {}}', '{"python": "3.11.7", "ragtriage": "0.1.0", "onnxruntime": "1.32.0", "pydantic-ai-slim": "2.68.0"}', 0.03315456200016342, 0.25, NULL, NULL, NULL, 1795948762.572955, 7, 3000000000, 45, 0, NULL, 'shop', 'postgres');
INSERT INTO scores VALUES (1, 'fact_precision', 0, 0, NULL, false, 5, 0);
INSERT INTO scores VALUES (1, 'fact_precision', 1, 0.5, NULL, false, 4, 0);
INSERT INTO scores VALUES (1, 'fact_precision', 2, 0, NULL, false, 5, 0);
INSERT INTO scores VALUES (1, 'groundedness', 0, 0.3333333333333333, NULL, false, 3, 0);
INSERT INTO scores VALUES (1, 'groundedness', 1, NULL, 'the judge could not tell for any of 2', false, NULL, NULL);
INSERT INTO scores VALUES (1, 'groundedness', 2, 0.3333333333333333, NULL, false, 3, 0);
INSERT INTO scores VALUES (1, 'response_precision', 0, 0.3333333333333333, NULL, false, 3, 0);
INSERT INTO scores VALUES (1, 'response_precision', 1, 1, NULL, false, 2, 0);
INSERT INTO scores VALUES (1, 'response_precision', 2, 0.3333333333333333, NULL, false, 3, 0);
INSERT INTO scores VALUES (1, 'response_query_coverage', 0, 1, NULL, false, 1, 1);
INSERT INTO scores VALUES (1, 'response_query_coverage', 1, 0.5, NULL, false, 2, 0);
INSERT INTO scores VALUES (1, 'response_query_coverage', 2, 1, NULL, false, 1, 1);
INSERT INTO scores VALUES (1, 'self_distinctness', 0, 0.6666666666666666, NULL, false, 3, 0);
INSERT INTO scores VALUES (1, 'self_distinctness', 1, 0, NULL, false, 2, 0);
INSERT INTO scores VALUES (1, 'self_distinctness', 2, 0.6666666666666666, NULL, false, 3, 0);
INSERT INTO scores VALUES (1, 'source_precision', 0, 0, NULL, false, 1, 1);
INSERT INTO scores VALUES (1, 'source_precision', 1, 0.3333333333333333, NULL, false, 3, 0);
INSERT INTO scores VALUES (1, 'source_precision', 2, 0, NULL, false, 1, 1);
INSERT INTO scores VALUES (1, 'source_query_coverage', 0, 1, NULL, false, 2, 0);
INSERT INTO scores VALUES (1, 'source_query_coverage', 1, 1, NULL, false, 2, 0);
INSERT INTO scores VALUES (1, 'source_query_coverage', 2, 1, NULL, false, 2, 0);
INSERT INTO scores VALUES (2, 'fact_precision', 0, 0, NULL, false, 5, 0);
INSERT INTO scores VALUES (2, 'fact_precision', 2, 0, NULL, false, 5, 0);
INSERT INTO scores VALUES (2, 'groundedness', 0, 0.3333333333333333, NULL, false, 3, 0);
INSERT INTO scores VALUES (2, 'groundedness', 2, NULL, 'the judge failed on 1 of 3: too long', true, NULL, NULL);
INSERT INTO scores VALUES (2, 'response_precision', 0, 0.3333333333333333, NULL, false, 3, 0);
INSERT INTO scores VALUES (2, 'response_precision', 2, 0.3333333333333333, NULL, false, 3, 0);
INSERT INTO scores VALUES (2, 'response_query_coverage', 0, 1, NULL, false, 1, 1);
INSERT INTO scores VALUES (2, 'response_query_coverage', 2, 1, NULL, false, 1, 1);
INSERT INTO scores VALUES (2, 'self_distinctness', 0, 0.6666666666666666, NULL, false, 3, 0);
INSERT INTO scores VALUES (2, 'self_distinctness', 2, 0.6666666666666666, NULL, false, 3, 0);
INSERT INTO scores VALUES (2, 'source_precision', 0, 0, NULL, false, 1, 1);
INSERT INTO scores VALUES (2, 'source_precision', 2, 0, NULL, false, 1, 1);
INSERT INTO scores VALUES (2, 'source_query_coverage', 0, 1, NULL, false, 2, 0);
INSERT INTO scores VALUES (2, 'source_query_coverage', 2, 1, NULL, false, 2, 0);
INSERT INTO texts VALUES ('\x19bd6662471eeab58085bbf9a63b532f', 'What is the price of the ticket number 0?');
INSERT INTO texts VALUES ('\x3ddf6d0706181669233674420a23a1b9', 'And what is the price of the other one?');
INSERT INTO texts VALUES ('\x578731368a0da8320475fe4d6afcee64', 'It is nine.');
INSERT INTO texts VALUES ('\x6e8bc2df1d80dafb5f6dc0ce6f006335', 'It is ten.');
INSERT INTO texts VALUES ('\x96ce86c66ad3e8dfc8cff8e8ff0d4c77', 'Nine.');
INSERT INTO texts VALUES ('\x97e0e7c25294b3852245e2a69850b0f7', 'It is six.');
INSERT INTO texts VALUES ('\x99cbc0b29976a6366c57b1f1574f803b', '\"The price of the other one is \u0000 nine."');
INSERT INTO texts VALUES ('\x9c26df356f8a4bddc79d21b98be30520', 'The price of it is six euros. The ticket number 3 is valid for the day.');
INSERT INTO texts VALUES ('\xa2225f0223a6d546b85938bd38e4a32b', 'What is the price?');
INSERT INTO texts VALUES ('\xb9fec5ecda43ab5b815b1f03138cf9d7', '\"\\((a)\\)"');
INSERT INTO texts VALUES ('\xcae66941d9efbd404e4d88758ea67670', '');
INSERT INTO texts VALUES ('\xdb7c3841753e47bc341f6c5c96c2519f', 'The price of the ticket number 0 is six euros. It is valid until the evening.');
INSERT INTO texts VALUES ('\xe23322231f8c2ee2f57c9042764a685a', 'The price of it is six euros. The ticket number 0 is valid for the day.');
INSERT INTO texts VALUES ('\xe3b13e7030153b847667ab868b0b7301', '\"\\It is nine (a)."');
INSERT INTO texts VALUES ('\xe984fb197b6e2ba032ef551e0a753110', 'All of the dogs travel for free if they sit on a lap.');
INSERT INTO texts VALUES ('\xed5f4cf189c84ba1866315fabad91322', 'The price of the ticket number 3 is six euros. It is valid until the evening.');
INSERT INTO texts VALUES ('\xee3efaed9e2cf221feacb46edb439072', 'What is the price of the ticket number 3?');
INSERT INTO texts VALUES ('\xf254bcd9e4a0be18cc4b06e3e796daf5', '\"The \ud800 odd."');
INSERT INTO tickets VALUES ('\x6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b6b', '', 'batch', 1795948762.5823605);
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
ALTER TABLE ONLY readings
    ADD CONSTRAINT readings_pkey PRIMARY KEY (run, "position");
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
CREATE INDEX runs_project ON runs USING btree (project, number);
CREATE INDEX scores_values ON scores USING btree (run, metric, value, "position");
ALTER TABLE ONLY case_texts
    ADD CONSTRAINT case_texts_run_fkey FOREIGN KEY (run) REFERENCES runs(number) ON DELETE CASCADE;
ALTER TABLE ONLY cases
    ADD CONSTRAINT cases_run_fkey FOREIGN KEY (run) REFERENCES runs(number) ON DELETE CASCADE;
ALTER TABLE ONLY readings
    ADD CONSTRAINT readings_run_fkey FOREIGN KEY (run) REFERENCES runs(number) ON DELETE CASCADE;
ALTER TABLE ONLY rejected
    ADD CONSTRAINT rejected_run_fkey FOREIGN KEY (run) REFERENCES runs(number) ON DELETE CASCADE;
ALTER TABLE ONLY scores
    ADD CONSTRAINT scores_run_fkey FOREIGN KEY (run) REFERENCES runs(number) ON DELETE CASCADE;
CREATE FUNCTION forget_texts(keys bytea[], unheld boolean) RETURNS void
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO '{schema}', 'pg_temp'
    AS $$ DELETE FROM "{schema}".answers WHERE key = ANY (keys); DELETE FROM "{schema}".texts t WHERE unheld AND NOT EXISTS (SELECT FROM "{schema}".case_texts c WHERE c.hash = t.hash) $$;
