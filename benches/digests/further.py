"""Commands that the pages name in tables and prose only, and some that nobody names: other forms of input, each model, each
classifier, each table of firmware.
"""

# Named in README.md, and of other programs; or tested by killing a run, in crates/cli/tests/resume.rs.
NO_OPTIONS = {"--example", "--path", "--release", "--workspace", "--checkpoint", "--resume"}

# Title, whether it belongs to what is quick, and commands, of which each block runs in one folder.
GROUPS = [
    (
        "help",
        True,
        """
countgrid --help
countgrid --version
countgrid map --help
countgrid fit --help
countgrid embed --help
countgrid words --help
countgrid firmware --help
countgrid info --help
countgrid crossval --help
countgrid sweep --help
countgrid evaluate --help
countgrid compare --help
""",
    ),
    (
        "reading",
        True,
        """
countgrid map papers.tsv.gz -o tsv --json
countgrid map papers.jsonl -o jsonl --quiet --title Papers
countgrid map docword.papers.txt -o docword
countgrid map docword.papers.txt --vocabulary vocab.papers.txt --tokens 100 -o tokens
countgrid map papers.csv --text-column title --title-column id --label-column year --id-column pages -o columns
countgrid map papers.csv --stop-words none --min-count 4 --max-share 0.3 --max-words 400 -o words
countgrid map papers.csv --stop-words stop.txt --stem -o stem
countgrid map promoters.csv --ngrams 3 -o ngrams
countgrid embed ngrams/model.safetensors promoters.csv
countgrid embed stem/model.safetensors new-papers.csv
countgrid map genes.csv --scale floor=100 --max-words 300 -o floor
countgrid map genes.csv --scale log=20 --tokens 500 -o log
countgrid embed log/model.safetensors genes.csv
countgrid map LESS/brain/brain.csv.gz --scale shift --tokens 500 --max-words 500 -o shift
countgrid map LESS/scenes8/scenes8.csv.gz --label-column class -o scenes
""",
    ),
    (
        "fitting",
        True,
        """
countgrid map papers.csv --anneal 0.1 --grid 16x16 --window 3x3 -o anneal
countgrid map papers.csv --anneal 0.2 --anneal-iterations 5 --schedule single -o anneal-single
countgrid map papers.csv --batch 40 --grid 16x16 --window 3x3 -o batch
countgrid map papers.csv --batch 50 --passes 2 --schedule single -o batch-single
countgrid map papers.csv --batch 50 --stream --restarts 2 -o together
countgrid map papers.csv --restarts 3 --seed 7 -o restarts
countgrid map papers.csv --stream -o stream
countgrid map papers.csv --threads 1 -o one-thread
countgrid map papers.csv --threads 3 -o three-threads
countgrid map papers.csv --iterations 7 --tolerance 0.001 -o iterations
countgrid map papers.csv --learn-prior --inner-passes 2 --pseudocount 0.01 -o prior
countgrid map papers.csv --precision f64 --grid 12x10 --window 3x2 -o f64
countgrid map papers.csv --precision f64 --grid 12x10 --window 3x2 --batch 50 --stream -o f64-together
countgrid map papers.csv --grid 3x8x8 --window 1x3x3 -o layers
countgrid map papers.csv --grid 40 --window 5 -o line
countgrid embed f64/model.safetensors new-papers.csv
countgrid embed layers/model.safetensors new-papers.csv --output layers.csv --quiet
countgrid embed line/model.safetensors new-papers.csv
countgrid words layers/model.safetensors --at 2,3,4 --json
countgrid words f64/model.safetensors --at 11,9 --top 5
countgrid info f64/model.safetensors --json
countgrid info layers/model.safetensors
countgrid info line/model.safetensors
""",
    ),
    (
        "dimensions",
        True,
        """
countgrid fit papers.csv --grid 9x8x7 --window 3x2x4 -o three.safetensors
countgrid fit papers.csv --grid 6x5x4x5 --window 2x3x2x2 --anneal 0.1 -o four.safetensors
countgrid fit papers.csv --grid 4x4x4x4x4 --window 3x3x3x3x3 --iterations 10 --precision f64 -o five.safetensors
countgrid fit papers.csv --grid 3x3x3x3x3x3 --window 2x1x2x2x1x2 --iterations 10 -o six.safetensors
countgrid fit papers.csv --grid 2x3x2x3x2x2x2x3 --window 1x2x1x2x2x1x2x2 --iterations 5 -o eight.safetensors
countgrid embed three.safetensors new-papers.csv
countgrid embed five.safetensors new-papers.csv
countgrid embed eight.safetensors new-papers.csv
countgrid words four.safetensors --at 5,4,3,4 --top 10
countgrid info eight.safetensors
""",
    ),
    (
        "measures",
        True,
        """
countgrid fit papers.csv --grid 9x8 --window 3x2 -o a.safetensors --iterations 10
countgrid fit papers.csv --grid 9x8 --window 3x2 -o b.safetensors --iterations 10 --seed 2
countgrid fit papers.csv --grid 5 --window 1 -o mixture.safetensors --iterations 10
countgrid fit papers.csv --model harmonium --epochs 3 -o harmonium.safetensors
countgrid evaluate a.safetensors new-papers.csv --output a.json --metric hellinger --neighbours 5 --top 7
countgrid evaluate mixture.safetensors new-papers.csv --json
countgrid evaluate harmonium.safetensors new-papers.csv
countgrid compare a.safetensors b.safetensors mixture.safetensors papers.csv -o compared --max-topics 9 --max-documents 100 --seed 3 --raw-csv
countgrid crossval papers.csv --grid 1x1 --window 1x1 --folds 3 --class-prior uniform
""",
    ),
    (
        "large",
        False,
        """
countgrid map DATA/news-20-same/news-20-same.tsv.gz -o news
countgrid map DATA/news-20-same/news-20-same.tsv.gz --stream -o stream
countgrid fit DATA/classic3/classic3.tsv.gz --precision f64 --iterations 20 -o f64.safetensors
countgrid embed f64.safetensors new-papers.csv
countgrid fit DATA/news-20-same/news-20-same.tsv.gz --model harmonium --epochs 5 -o harmonium.safetensors
""",
    ),
    (
        "topographic maps",
        True,
        """
countgrid map papers.csv --model zip-latent-gtm --max-words 150 -o zip-latent
countgrid map papers.csv --model poisson-gtm --max-words 300 --exposure length --magnification -o poisson
countgrid map papers.csv --model zip-gtm --max-words 100 --points 8x7 --exposure length --iterations 10 -o zip-length
countgrid map papers.csv --model bernoulli-gtm --points 12x10 --latent torus --place mode -o bernoulli
countgrid map papers.csv --model multinomial-gtm --sample 30 --basis sinh --basis-functions 4x3 --stem -o multinomial
countgrid map papers.csv --model multinomial-gtm --latent random --seed 5 --neighbours 3 --precision f64 --iterations 20 --json -o random
countgrid map genes.csv --model gaussian-gtm --scale log=20 --max-words 200 --width 0.7 -o gaussian
countgrid embed poisson/model.safetensors new-papers.csv
countgrid embed bernoulli/model.safetensors new-papers.csv
countgrid embed random/model.safetensors new-papers.csv
countgrid embed gaussian/model.safetensors genes.csv
countgrid info zip-latent/model.safetensors
countgrid info random/model.safetensors --json
""",
    ),
    (
        "harmoniums",
        True,
        """
countgrid fit papers.csv --model harmonium --topics 5 --steps 3 --epochs 20 --trace cd.csv -o cd.safetensors
countgrid fit papers.csv --model harmonium --topics 4 --method persistent --epochs 20 --batch 30 --trials 2 -o persistent.safetensors
countgrid fit papers.csv --model rap --topics 4 --epochs 20 --trials 3 -o rap.safetensors
countgrid fit papers.csv --model rap --topics 3 --method langevin --prior empirical --chains 2 --draws 100 --epochs 5 -o rap-langevin.safetensors
countgrid fit papers.csv --model harmonium --topics 3 --method langevin --prior 0.2 --draws 60 --step-size 0.01 --precision f64 --json -o langevin.safetensors
countgrid fit papers.csv --model dual-wing --topics 4 --features-from features.csv --feature-variance 0.3 --epochs 20 -o dual.safetensors
countgrid fit papers.csv --model dual-wing --topics 3 --features-from features.csv --feature-columns pages --method langevin --prior empirical-pooled --draws 60 --chains 2 --epochs 5 --trace dual.csv -o dual-langevin.safetensors
countgrid embed cd.safetensors new-papers.csv
countgrid embed rap.safetensors new-papers.csv
countgrid embed langevin.safetensors new-papers.csv
countgrid embed dual.safetensors papers.csv --features-from features.csv
countgrid embed dual-langevin.safetensors new-papers.csv
countgrid info persistent.safetensors
countgrid info rap-langevin.safetensors --json
countgrid info dual.safetensors
""",
    ),
    (
        "firmware",
        True,
        """
countgrid fit papers.csv --grid 24 --window 5 --max-words 300 -o line.safetensors
countgrid fit papers.csv --grid 8x8 --window 3x3 --max-words 300 --precision f64 --learn-prior -o plane.safetensors
countgrid fit papers.csv --grid 4x5x6 --window 2x3x2 --max-words 300 -o cube.safetensors
countgrid firmware line.safetensors -o line
countgrid firmware line.safetensors --table 16 -o line-16
countgrid firmware line.safetensors --table 8 -o line-8
countgrid firmware plane.safetensors --table f32 --vocabulary -o plane
countgrid firmware plane.safetensors --table 16 --quiet -o plane-16
countgrid firmware plane.safetensors --table 8 -o plane-8
countgrid firmware cube.safetensors -o cube
countgrid firmware cube.safetensors --table 16 -o cube-16
countgrid firmware cube.safetensors --table 8 --vocabulary -o cube-8
""",
    ),
    (
        "classifiers",
        True,
        """
countgrid crossval papers.csv --folds 3 --classifier generative --grid 6x6 --window 3x3 --json
countgrid crossval papers.csv --folds 3 --classifier labels --grid 12x12 --window 3x3
countgrid crossval papers.csv --folds 3 --classifier nearest --neighbours 3 --grid 12x12 --window 3x3
countgrid crossval papers.csv --folds 3 --classifier svm --grid 12x12 --window 3x3 --penalty 10
countgrid crossval papers.csv --folds 3 --classifier svm-rbf --grid 6x6 --window 2x2 --gamma 0.1
countgrid crossval papers.csv --folds 3 --classifier svm-linear --grid 6x6 --window 2x2 --features fess-words --max-words 300
countgrid crossval papers.csv --folds 3 --numeric --classifier labels --label-column year --grid 12x12 --window 3x3
countgrid crossval papers.csv --folds 3 --classifier generative --grid 6x6 --window 2x2 --stream --anneal 0.1 --precision f64
countgrid crossval papers.csv --folds 3 --repeats 2 --classifier nearest --select variance --max-words 300 --grid 12x12 --window 3x3 --threads 1
countgrid crossval papers.csv --folds 3 --select mrmr --max-words 200 --classifier labels --try grid=8x8/2x2,12x12/3x3 --inner-folds 2
""",
    ),
    (
        "features",
        True,
        """
countgrid crossval papers.csv --folds 3 --max-words 300 --grid 6x6 --window 2x2 --classifier svm --features spread
countgrid crossval papers.csv --folds 3 --max-words 300 --grid 6x6 --window 2x2 --classifier svm-linear --features posterior
countgrid crossval papers.csv --folds 3 --max-words 300 --grid 6x6 --window 2x2 --classifier svm-rbf --features fess --one-model
countgrid crossval papers.csv --folds 3 --max-words 300 --grid 6x6 --window 2x2 --classifier svm-rbf --features nfess
countgrid crossval papers.csv --folds 3 --max-words 300 --grid 6x6 --window 2x2 --classifier svm-rbf --features fess-sources
countgrid crossval papers.csv --folds 3 --max-words 300 --grid 6x6 --window 2x2 --classifier svm-linear --features fisher
countgrid crossval genes.csv --scale log=20 --folds 3 --max-words 100 --grid 6x6 --window 2x2 --classifier svm-linear --features top
""",
    ),
    (
        "models",
        True,
        """
countgrid crossval papers.csv --folds 3 --max-words 500 --model mixture --topics 4
countgrid crossval papers.csv --folds 3 --max-words 500 --model mixture --topics 4 --classifier svm-rbf --features fess-sources
countgrid crossval papers.csv --folds 3 --max-words 500 --model lda --topics 4
countgrid crossval papers.csv --folds 3 --max-words 500 --model lda --topics 6 --classifier nearest --features posterior --metric cosine
countgrid crossval papers.csv --folds 3 --max-words 500 --model lda --topics 3 --classifier svm-linear --features fess-words
countgrid crossval papers.csv --folds 3 --max-words 500 --model lda --topics 3 --classifier svm-linear --features fisher --precision f64
countgrid crossval promoters.csv --folds 3 --model hmm --states 3
countgrid crossval promoters.csv --folds 3 --model hmm --states 3 --classifier svm-rbf --features fisher
countgrid crossval promoters.csv --folds 3 --model hmm --states 3 --classifier svm-rbf --features top
countgrid crossval promoters.csv --folds 3 --model hmm --states 2 --classifier svm-linear --features nfess --restarts 2 --precision f64
countgrid crossval papers.csv --folds 3 --max-words 500 --model harmonium --topics 4 --epochs 20 --classifier nearest --features posterior --metric euclidean
countgrid crossval papers.csv --folds 3 --max-words 300 --model harmonium --topics 3 --epochs 5 --method langevin --draws 60 --classifier nearest --features samples
countgrid crossval papers.csv --folds 3 --max-words 500 --model rap --topics 4 --epochs 20 --classifier svm-linear --features posterior
countgrid crossval papers.csv --folds 3 --max-words 500 --model lsi --topics 5 --classifier nearest --features posterior
""",
    ),
    (
        "sweeps",
        True,
        """
countgrid sweep papers.csv --folds 3 --classifier labels --try grid=8x8,12x12 --try window=2x2,4x4
countgrid sweep papers.csv --folds 3 --classifier labels --try grid=8x8,12x12 --try window=2x2,4x4 # from results.json
countgrid sweep papers.csv --folds 3 --classifier nearest --model lda --features posterior --try topics=3,6 --json -o topics
""",
    ),
]
