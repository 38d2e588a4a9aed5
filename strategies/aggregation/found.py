"""Selection networks that are shorter than the ones constructed in `network`.

They were found by `python -m bench.networks` and are proved in tests on all zeros and ones.
"""

from functools import cache
from string import ascii_letters
from textwrap import wrap

Comparators = list[tuple[int, int]]

_WIDTH = 96

_NETWORKS = """
5,2:
abcdacbdcebebc
7,2:
abcdefacbddfegbcdgbecgad
7,3:
abcdefacbdcgcefgfebebfafdf
8,2:
abcdefghacbdegfhfgdgbcafchbe
9,2:
abcdefghacbdegfhdffhbicgaegicedcfibd
9,3:
abcdefghacbdegfhiggfcbhbcegaaidiehaefh
9,4:
abcdefghacbdegfhchcfbgceabdgdfbedideei
10,2:
abcdefghijacbdegfhcjgfdfbifjficeabaghibc
10,3:
abcdefghijacbdegfhaedhcfdjeigdfjbibgdfcebefi
10,4:
abcdefghijacbdegfhfgbcbeafchcfcifjdgfedieidf
11,2:
abcdefghijacbdegfhkjkigfbcakchfdhjbeagikdkhkbi
11,3:
abcdefghijacbdegfhikcjcgaikffjbkeifghjdibdcbhihkgkbeae
11,4:
abcdefghijacbdegfhgjkgdjbiidbekafiaeigafhdehfecicfihgi
11,5:
abcdefghijacbdegfhkjbkfkbekjdkgdagegeicicfdifgghdgdf
12,2:
abcdefghijklacbdegfhikjlaejkhkcgeibfbcajbedkflgddl
12,3:
abcdefghijklacbdegfhikjleihldhblgjfkcbbjgibehjagficfhddkcg
12,4:
abcdefghijklacbdegfhikjlhibkajdicgbcgfaefldecgchfkekfjgefhbfejdf
12,5:
abcdefghijklacbdegfhikjlbkcjeigjaidlcgdhgfdibgfkcdgffidgfj
13,2:
abcdefghijklacbdegfhikjleidmfgjkaegkkmdcfidfbeceehhldjhmbd
13,3:
abcdefghijklacbdegfhikjlimgjckfmbfmlagjfdlcgfdfmbcbakmdmaidhcicehk
13,4:
abcdefghijklacbdegfhikjlbmhjkmdlmjglehdfchdadiakhmbiigcaaibcghachkkmfkce
13,5:
abcdefghijklacbdegfhikjlalhlcgaehgemckbjhjcebfimbifkgjeihfdmgkgmgfdidhfi
13,6:
abcdefghijklacbdegfhikjljclhcgbkcfgdfjcbgljkafieefjmbfbjjgfmfjgj
14,2:
abcdefghijklmnacbdegfhikjlgmjcbkeilmfndmbgdnbjhmifaihkcnaebekn
14,3:
abcdefghijklmnacbdegfhikjldhemkmakbfhlbicgaegmbehnfmkijhfnckhdnmcjdnce
14,4:
abcdefghijklmnacbdegfhikjlaenkcbcjgnmificfhkilbkfbdliednagjhmcdjgfejdihncdhjjbdg
14,5:
abcdefghijklmnacbdegfhikjlimbfjnamcgembkfmebbagkknfhcjcifjaihlhkdhdggjhmhjifdihk
14,6:
abcdefghijklmnacbdegfhikjlneekhijefgbgdinhahfccehmblcjelgkchmjbhdjfmgedmhgdhgm
15,2:
abcdefghijklmnacbdegfhikjljkonbolngchomfamlojmdfgicnbgkfonejfoabbgbe
15,3:
abcdefghijklmnacbdegfhikjlamldcjcobfecignohojhknfnhngmaeonlhhmdocgeibkbicedmbe
15,4:
abcdefghijklmnacbdegfhikjlaehlbgmkdlcfjngnbjdhkocmfoiehoekgjfmciaibibedkfihndgdfkjdehjjm
15,5:
abcdefghijklmnacbdegfhikjlfkgjmobobfamcnemkodlcgecimaijnjfgkdhdmnofmgjnlbccifkmnhkgidghm
15,6:
abcdefghijklmnacbdegfhikjlmobgfchlojbocoieamljknemhmfkbfdhklnoglgnnmfaeidgaickcdgkknhkigdi
15,7:
abcdefghijklmnacbdegfhikjljgfkdelediancblhjcgngbnbcgnkngiajmcfamflfaonglaogngmnonmgnhn
16,2:
abcdefghijklmnopacbdegfhikjlmonpnoeigfemfokjdpbcdhjcnmbegkgilochhohpagan
16,3:
abcdefghijklmnopacbdegfhikjlmonpambfjnlpiecgkobjdhemaidognhpeickhoflhnciceonbelo
16,4:
abcdefghijklmnopacbdegfhikjlmonpbfdhdfckgnagknlfbiipceglokhpjmbacjlkeoajdmdgaefnhoijieomfkdikofm
16,5:
abcdefghijklmnopacbdegfhikjlmonpdhcgknicdnbfjoejgobkbiholpflajhnfkcmcieihlhpaidjgmkmhmjmdgdidf
16,6:
abcdefghijklmnopacbdegfhikjlmonpkgbodhhplheajfiafocnckbjfkdlamgncedmjgdjgmebfjhnfdgkhomkadhldihm
bi
16,7:
abcdefghijklmnopacbdegfhikjlmonpcpcimafohpemigkofbinglngbkdomcnjfnanbiicgkhlhdcnjgacgdjhhncjjihg
17,2:
abcdefghijklmnopacbdegfhikjlmonpofmqfdnjkmkelhgqbcdmmhlqngjmaemqcqpqanhpbiakbkbo
17,3:
abcdefghijklmnopacbdegfhikjlmonpimjnlpdhkocfaehpcmaiiqnfdlejhlbgbqcecibkgooqiefqfobilohq
17,4:
abcdefghijklmnopacbdegfhikjlmonpdhjnqkcfknoqmidqbglqaehnjibeajelgpcoigejbmdoimcieifkhkfekpkqdfkg
ghloho
17,5:
abcdefghijklmnopacbdegfhikjlmonpeindaqgjcibokpaebgemcbfqojfnnokmlhlilmiopoebqphdkfnlhqhgbfnhbcgi
imnkpqckpmjp
17,6:
abcdefghijklmnopacbdegfhikjlmonpemamknjocglhbfgnbjckaibcfodppljqkfimfqdphohndmgmciqmdkgjeihpfjhj
gkjqdgfgfi
17,7:
abcdefghijklmnopacbdegfhikjlmonpkncfameidldqckbojghpgobjdhfngjhqjfkjhodilfimhmghmqkgednmcaabdibi
hjlphijnjlgh
17,8:
abcdefghijklmnopacbdegfhikjlmonppgjcdgpiolapinmkhkpeemjphdbnfcfobqmhncdkpioqdnfmbmopphimqmhqdlpi
diihdi
18,2:
abcdefghijklmnopqracbdegfhikjlmonpbckqgomahcodnrpljfbkinemgibjgmbeagcrcllrfppdaelqdq
18,3:
abcdefghijklmnopqracbdegfhikjlmonpaimeambfhpcgdlmqojgjcodhnqlpbnlriejhhrlkcicmilbmjhbikfhqfq
18,4:
abcdefghijklmnopqracbdegfhikjlmonpaikbnohofrmfcjdlicfhpqngifpkbeckkhameqjrgdpnloldelqdjgpicnlhbc
mjbihrcmcighhq
18,5:
abcdefghijklmnopqracbdegfhikjlmonpcnlhfjdphpogbkcfeiamaebodlimieeqbqfqdmmqjnkghrrnlhklcejohrqlbe
hqeigqfigolodkdjdf
18,6:
abcdefghijklmnopqracbdegfhikjlmonprkeidhrajgkpkbqnqjcnlmfkhmoaicfidcojqrgnghnpbhrildgdreellibkkd
hnofbicabgjckiflblicbjdacdhc
18,7:
abcdefghijklmnopqracbdegfhikjlmonpcneibogkphaejfgbbrfndpcjimdlkoemopbkceeifrongiqmibhodkrldbfjfi
qijmkmhrbqhqjidjikkq
18,8:
abcdefghijklmnopqracbdegfhikjlmonpgohbrnfjknpjnbmfekhrhkaegiidmgkcqigejdnoloephelpjpcfqecknlkner
irflecijjfkirnjrcicjir
19,2:
abcdefghijklmnopqracbdegfhikjlmonppdbcqsfgbeoklhnjdsqnhscgaqdrmifmhpjlgpkrafoqprbilrfofdbf
19,3:
abcdefghijklmnopqracbdegfhikjlmonpodsjsqsmdrkqjlgbdneaojhllrcffqamcdsejbqpaepllbicaikikoplckcelh
hqcgnq
19,4:
abcdefghijklmnopqracbdegfhikjlmonpboeisncramfkimpdorhljgjmfboglpbqbicsknklaefeprbfcjpdeimpshlqok
phghjfgqoenpsosjdqcjpdhp
19,5:
abcdefghijklmnopqracbdegfhikjlmonpnbkoeidhsrsqlpgjcfamfonigmckkqaerojbbohpdldjmiiqscecdkjqrcbcbh
rghqlbgfdehfegfcemsnfbenrn
19,6:
abcdefghijklmnopqracbdegfhikjlmonpfrimagqspdgksojfhlbcqerfamnbgcrbcodfloqimesgnjgckcphpgnisrhcke
pmldrgdbsidchdjlaildhepirkijgermleri
19,7:
abcdefghijklmnopqracbdegfhikjlmonpekhjsprncrqolpndjdqafirlibcaimrgaklnbofqcekmaqsbkqmbjggnqsrehl
jlriehsmjhhmmpsjoglbskqeaikiesjlomlosk
19,8:
abcdefghijklmnopqracbdegfhikjlmonpfbcimeflsgnqdkhkdblrliprphfohbodnsigqimljhlsfnanneejpsdgpqlacn
jsdseoihkdkinopejkejnaoqaejeiqikkeoj
19,9:
abcdefghijklmnopqracbdegfhikjlmonpqkkpckrnlkeiirqmnbsgrsjodgainjsjolsibjdoqrkhkpmffibgsmblcejirn
bkjojkmbnjfedmbefmjenbbjjmbj
20,2:
abcdefghijklmnopqrstacbdegfhikjlmonpqsrteijkgragptiqlrrtosnfdrbcmjeokraibmbeenctprhtaebihffsrs
20,3:
abcdefghijklmnopqrstacbdegfhikjlmonpqsrtltoghprcpbnftbfcglromeaqpjltjcriskamsakhqehcapctrmamhcdc
nirqnqlcan
20,4:
abcdefghijklmnopqrstacbdegfhikjlmonpqsrtjfqahinopgdecrjtcpbneteilrpnkmfgdhmaolgtcmgnlihmirfshkcb
elqhcdkfjplanabjbhhogsaskhiadbnabk
20,5:
abcdefghijklmnopqrstacbdegfhikjlmonpqsrtpdosnchtbgrkpheafjrnjshlofmqkchgemgcromiaibqtcrmldltkfls
aonhamjqojbmlgpihfgsgfnomkpnpmiqfq
20,6:
abcdefghijklmnopqrstacbdegfhikjlmonpqsrtlbjkfisrtpfahbhdorskamglsgjqqloetincpdtnjtmgrbnklpheerth
ftasneqhkcsmosnmklgkhkqgsjqjrpnjkeieiltqerlcleqn
20,7:
abcdefghijklmnopqrstacbdegfhikjlmonpqsrtnfltgbsknjrmgohdiqkhmjlbkphfpbdtsglqdfqoaecmcncipoernqmh
klhonkrgdpjgjmrkarjkenqlqjlhsinqrimdldqihdhghp
20,8:
abcdefghijklmnopqrstacbdegfhikjlmonpqsrtphjfpscblsrfkpdidqcjnfaneqfsbpobmqihitdmjrpfealbngpggtlq
cmqrqnqlbgpimjjpkoiribbnmkloapoiqjpbibalojoklkpl
20,9:
abcdefghijklmnopqrstacbdegfhikjlmonpqsrtgojoqikrltsofncfqgrndoekhppdigfthlmergbgaiphlniksgeibksj
glghjfrikicspjfgsjpkjisrbrfkjrkrfj
"""
"""For m rows of which k are dropped on either side, "m,k:" and the comparators, two letters each:
"ad" puts the smaller of lines 0 and 3 into line 0, the larger into line 3."""


def found(m: int, dropped: int) -> Comparators | None:
    """The comparators of the shortest known network, if one was found."""
    return _all().get((m, dropped))


def found_sizes() -> list[tuple[int, int]]:
    """The numbers of rows and of those that are dropped for which there is one."""
    return list(_all())


def written(m: int, dropped: int, comparators: Comparators) -> str:
    """An entry of the table."""
    letters = "".join(ascii_letters[line] for pair in comparators for line in pair)
    return "\n".join([f"{m},{dropped}:", *wrap(letters, _WIDTH)])


def read(table: str) -> dict[tuple[int, int], Comparators]:
    """All entries of a table."""
    networks: dict[tuple[int, int], Comparators] = {}
    for line in table.split():
        if line.endswith(":"):
            m, dropped = map(int, line[:-1].split(","))
            own = networks[m, dropped] = []
        else:
            lines = [ascii_letters.index(letter) for letter in line]
            own += zip(lines[::2], lines[1::2], strict=True)
    return networks


@cache
def _all() -> dict[tuple[int, int], Comparators]:
    return read(_NETWORKS)
