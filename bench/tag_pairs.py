"""Pairs of tags that a person would call one tag, and pairs that only lie close to each other."""

from __future__ import annotations


def _pairs(text: str) -> tuple[tuple[str, str], ...]:
    rows = (row.strip() for row in text.replace("\n", ";").split(";"))
    return tuple((one.strip(), other.strip()) for one, _, other in (row.partition("/") for row in rows if row))


ONE = _pairs("""
invoice/invoices; recipe/recipes; contract/contracts; photo/photos; receipt/receipts; city/cities; tax/taxes
company/companies; child/children; woman/women; knife/knives; baby/babies; analysis/analyses; meeting/meetings
email/e-mail; email/e mail; email/emails; web site/website; wi-fi/wifi; health care/healthcare; on-line/online
cyber security/cybersecurity; open source/open-source; data base/database; book keeping/bookkeeping; colour/color
organisation/organization; travelling/traveling; catalogue/catalog; jewellery/jewelry; theatre/theater
photo/photograph; photography/photographs; picture/image; ad/advertisement; lab/laboratory; exam/examination
car/automobile; holiday/vacation; tax return/tax declaration; movie/film; lawyer/attorney; doctor/physician
flat/apartment; job/employment; salary/wages; child care/childcare; purchase/buying; garbage/trash; shop/store
autumn/fall; bicycle/bike; television/tv; refrigerator/fridge; air plane/airplane; aircraft/plane; sofa/couch
cooking/cookery; gardening/garden work; machine learning/ml; artificial intelligence/ai; united states/usa
united kingdom/uk; world war ii/second world war; climate change/global warming; rental contract/lease agreement
job application/application for a job; annual report/yearly report; user manual/user guide; user guide/users guide
bank statement/account statement; cv/resume; resume/curriculum vitae; minutes/meeting minutes; to do list/todo list
health insurance/medical insurance; car insurance/auto insurance; travel expenses/travelling expenses
electricity bill/power bill; birthday party/birthday celebration; programming/computer programming
software development/software engineering; financial report/financial statement; newspaper article/news article
bill/invoice; pet/pets; kitchen appliance/kitchen appliances; home improvement/house improvement
cell phone/mobile phone; smartphone/smart phone; laptop/notebook computer; footwear/shoes; clothing/clothes
kids/children; infant/baby; elderly/old people; sickness/illness; medication/medicine; drugstore/pharmacy
physician letter/doctor's letter; dentist/dental care; gym/fitness studio; workout/exercise
soccer/association football; hiking/trekking; journey/trip; hotel booking/hotel reservation
flight ticket/airline ticket; airfare/flight ticket; gas station/petrol station; truck/lorry; highway/motorway
subway/underground; luggage/baggage; passport copy/copy of passport; mortgage/home loan
loan agreement/credit agreement; insurance policy/insurance contract; warranty/guarantee; complaint/complaints letter
termination letter/notice of termination; employment contract/work contract; payslip/pay slip; payroll/payslips
time sheet/timesheet; quarterly report/quarterly results; business plan/business planning; presentation/slides
spreadsheet/excel sheet; source code/program code; bug report/error report; operating system/os
programming language/programming languages; neural network/neural nets; nlp/natural language processing
statistics/statistical analysis; maths/mathematics; essay/essays; phd thesis/doctoral thesis
master thesis/master's thesis; lecture notes/course notes; textbook/text book; science fiction/sci-fi; novel/novels
music/songs; concert ticket/concert tickets; christmas/xmas; wedding/wedding ceremony; vegetable/vegetables
veggie/vegetarian; dessert/desserts; barbecue/bbq; plants/plant; renewable energy/green energy
global economy/world economy; stock market/share market; retirement/pension; elections/election; lawsuit/legal case
court ruling/court decision; copyright/copyrights
""")

TWO = _pairs("""
2023/2024; 2019/2021; january/february; june/july; monday/tuesday; spring/autumn; summer/winter; q1/q2
windows 10/windows 11; iphone 12/iphone 13; version 1/version 2; world war i/world war ii; 19th century/20th century
java/javascript; python/java; c/c++; c++/c#; linux/windows; postgresql/mysql; html/css; php/python; android/ios
cat/dog; mother/father; son/daughter; brother/sister; man/woman; boy/girl; husband/wife; king/queen; horse/cow
income/expense; income/expenses; invoice/receipt; invoice/order; buying/selling; import/export; debit/credit
profit/loss; asset/liability; buyer/seller; landlord/tenant; employer/employee; teacher/student; doctor/patient
question/answer; input/output; cause/effect; win/loss; start/end; birth/death; marriage/divorce; war/peace
germany/france; germany/austria; spain/portugal; france/paris; london/paris; berlin/munich; new york/new jersey
english/german; english/french; chinese/japanese; chinese/korean; danish/swedish; europe/asia; america/africa
north/south; east/west; left/right; hot/cold; day/night; morning/evening; upper/lower; indoor/outdoor; male/female
red/blue; red/green; black/white; green/yellow; silver/gold; pink/purple; apple/orange; bank/bench; tea/coffee
beer/wine; milk/cheese; bread/butter; breakfast/dinner; lunch/dinner; rice/pasta; salt/pepper; chicken/beef; car/truck
car/bicycle; bus/train; train/plane; boat/ship repair; house/garden; kitchen/bathroom; table/chair
tax return/tax refund; tax return/tax law; rental contract/employment contract; car insurance/health insurance
health insurance/life insurance; bank statement/bank transfer; birth certificate/death certificate
marriage certificate/birth certificate; driving licence/fishing licence; football/basketball; football/rugby
tennis/golf; piano/guitar; guitar/violin; physics/chemistry; biology/chemistry; history/geography; algebra/geometry
painting/sculpture; poetry/novel; newspaper/magazine; audio/video; photo/video; cpu/gpu; ram/rom; keyboard/mouse
supervised learning/unsupervised learning; frontend/backend; client/server; encryption/decryption; upload/download
machine learning/deep learning; marketing/sales; hardware/software; diabetes/cancer; heart/lung; flu/covid
christmas/easter; hinduism/buddhism; christianity/islam; democracy/dictatorship; inflation/deflation; bear/bull
solar power/wind power; oil/gas; copper/iron; oak/pine; rose/tulip; euro/dollar; mars/venus; sun/moon; bill/cheque
pet/farm animal; monitor/printer; laptop/tablet; shoes/socks; hat/gloves; kids/parents; grandmother/granddaughter
aunt/uncle; nurse/doctor; symptom/diagnosis; allergy/asthma; dentist/surgeon; vitamin/antibiotic; running/swimming
soccer/hockey; skiing/snowboarding; hiking/cycling; arrival/departure; flight/hotel; italy/greece; japan/china
india/pakistan; norway/sweden; canada/mexico; russia/ukraine; texas/california; rome/milan; tokyo/kyoto
boston/chicago; spanish/italian; arabic/hebrew; latin/greek; loan/savings; deposit/withdrawal; lender/borrower
stocks/bonds; fixed rate/variable rate; gross/net; sick leave/parental leave; full time/part time; hiring/firing
promotion/demotion; manager/employee; first quarter/second quarter; annual report/monthly report
meeting minutes/meeting agenda; proposal/contract; offer/order; draft/final version; ruby/rust; react/angular
docker/kubernetes; aws/azure; excel/word; powerpoint/excel; chrome/firefox; facebook/twitter; youtube/netflix
github/gitlab; bitcoin/ethereum; compression/decompression; read/write; frontend developer/backend developer
unit test/integration test; sql/nosql; physics/mathematics; sociology/psychology; botany/zoology; medieval/ancient
renaissance/baroque; fiction/non-fiction; novel/short story; jazz/rock music; opera/ballet; violin/cello; bass/treble
vegan/vegetarian; cake/bread; fish/meat; apple/banana; lemon/lime; tomato/potato; sugar/salt; wine/whisky
sunrise/sunset; spring/summer; high tide/low tide; earthquake/hurricane; rain/snow; fire/flood; lion/tiger; wolf/fox
eagle/owl; bee/wasp; shark/whale; nuclear power/solar power; coal/natural gas; petrol/diesel; motorbike/bicycle
ship/submarine; airport/train station; church/mosque; judge/jury; plaintiff/defendant; civil law/criminal law
senate/congress; president/prime minister; republican/democrat; capitalism/socialism; army/navy; victory/defeat
windows/doors; floor/ceiling; bedroom/living room; hammer/screwdriver; wood/metal; cotton/silk; mammals/reptiles
triangle/circle; addition/subtraction
""")
